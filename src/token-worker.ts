// The composition root of the thread that counts tokens.
import { countTokens as tokensIn } from "gpt-tokenizer/encoding/o200k_base"
import { countTokens } from "./counting/count-tokens.ts"
import type { CountTask } from "./counting/token-counter.ts"
import { countTokens as simulatorTokens } from "./simulator/tokens.ts"
import { answerTasks } from "./transport/off-loop.ts"

answerTasks(({ text, family }: CountTask): number =>
  // The simulator counts words, and so would nobody else.
  family === "simulator" ? simulatorTokens(text) : countTokens(text, family, (piece) => tokensIn(piece)),
)
