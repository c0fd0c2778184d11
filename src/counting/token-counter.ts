// Counts tokens in a thread of its own, which is started on first need and ended when it has been idle: the tokenizer
// takes a hundred megabytes and half a second to load.
import { OffLoop } from "../transport/off-loop.ts"
import type { TokenFamily } from "./count-tokens.ts"

export interface CountTask {
  readonly text: string
  readonly family: TokenFamily
}

/** More than this is not counted, but told by its length: it would keep the thread busy for too long. */
const MAX_COUNTED_LENGTH = 4 * 1024 * 1024
const CHARACTERS_PER_TOKEN = 3

export class TokenCounter {
  private readonly offLoop: OffLoop

  /** `module` answers each CountTask with a number. */
  constructor(module: URL) {
    this.offLoop = new OffLoop({ module })
  }

  /** Never rejects: where counting fails, the length tells. */
  async count(task: CountTask): Promise<number> {
    const byLength = Math.ceil(task.text.length / CHARACTERS_PER_TOKEN)
    if (task.text === "" || task.text.length > MAX_COUNTED_LENGTH) return byLength
    try {
      return await this.offLoop.run<CountTask, number>(task)
    } catch {
      return byLength
    }
  }
}
