// Counts tokens in a separate thread, which starts on first use and ends when idle: the tokenizer takes a hundred
// megabytes and half a second to load.
import { TaskWorker } from "../transport/event-loop/task-worker.ts"
import type { TokenFamily } from "./count-tokens.ts"
import type { RequestShape } from "./estimate-tokens.ts"
import { inputBound } from "./input-bound.ts"

export interface CountTask {
  readonly text: string
  readonly family: TokenFamily
  /** Present if the text is a whole request: the further quantities to count. */
  readonly shape?: RequestShape
  /** Present if the text is a raw request body, which the thread parses: its protocol and envelope. */
  readonly wireRequest?: { readonly protocol: string; readonly envelope: object }
}

/** More than this is not counted: it would keep the thread busy for too long. */
export const MAX_COUNTED_LENGTH = 4 * 1024 * 1024
const CHARACTERS_PER_TOKEN = 3
/** Coding agents count between turns of a conversation, which are minutes apart. */
const IDLE_MS = 5 * 60_000

export class TokenCounter {
  private readonly offLoop: TaskWorker

  /** `module` answers each CountTask with a number. */
  constructor(module: URL) {
    this.offLoop = new TaskWorker({ module, idleMs: IDLE_MS })
  }

  /** True if a count takes milliseconds; otherwise the tokenizer must be loaded first. */
  get isWarm(): boolean {
    return this.offLoop.isWarm
  }

  /** Never rejects: if counting fails, it estimates by length. */
  async count(task: CountTask): Promise<number> {
    const { text, shape, wireRequest } = task
    if (text === "" && !shape) return 0
    if (text.length > MAX_COUNTED_LENGTH && !wireRequest) return estimateByLength(text)
    try {
      return await this.offLoop.run<CountTask, number>(task)
    } catch {
      return wireRequest ? inputBound(text) : estimateByLength(text)
    }
  }
}

function estimateByLength(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN)
}
