// The composition root of the thread that counts tokens.
import { countTokens as tokensIn } from "gpt-tokenizer/encoding/o200k_base"
import { countTokens } from "./counting/count-tokens.ts"
import { estimateTokens } from "./counting/estimate-tokens.ts"
import { type CountTask, MAX_COUNTED_LENGTH } from "./counting/token-counter.ts"
import { textOfRequest } from "./exchange/charge/countable-text.ts"
import type { RequestEnvelope } from "./protocols/contract.ts"
import { codecs } from "./protocols.ts"
import { countTokens as simulatorTokens } from "./simulator/tokens.ts"
import { answerTasks } from "./transport/event-loop/task-worker.ts"

/** What looks like a mark of the tokenizer's own is text here. */
const PLAIN = { disallowedSpecial: new Set<string>() }

answerTasks((task: CountTask): number => {
  const { text, shape } = task.wireRequest ? readCountedRequest(task.text, task.wireRequest) : task
  const { family } = task
  // Only the simulator counts words.
  const tokenizer = family === "simulator" ? simulatorTokens : (piece: string) => tokensIn(piece, PLAIN)
  const share = MAX_COUNTED_LENGTH / text.length
  // For very long text the beginning is extrapolated, and media are ignored.
  if (share < 1) return Math.ceil(countTokens(text.slice(0, MAX_COUNTED_LENGTH), family, tokenizer) / share)
  return shape ? estimateTokens({ text, shape, family }, tokenizer) : countTokens(text, family, tokenizer)
})

function readCountedRequest(body: string, { protocol, envelope }: NonNullable<CountTask["wireRequest"]>) {
  const codec = codecs.ingress.get(protocol)
  if (!codec) throw new Error(`no codec reads ${protocol}`)
  return textOfRequest(codec.decodeRequest(JSON.parse(body), envelope as RequestEnvelope))
}
