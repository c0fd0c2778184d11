// Reads what follows the terminal event of a stream, so that its connection can be used again.
import type { Abort } from "../../transport/abort.ts"
import type { DeadlineTimer } from "../../transport/deadline-timer.ts"
import type { UpstreamBodyReader } from "../../transport/http-response.ts"

const DRAIN_MS = 1000
/** Little more than the end of the framing is to come; a host that sends on is not worth its connection. */
const MAX_DRAINED_BYTES = 64 * 1024

/** The answer is complete; how its connection ends does not matter any more. */
export async function drainStream(
  reader: Pick<UpstreamBodyReader, "read">,
  { abort, deadlines }: { abort: Abort; deadlines: DeadlineTimer },
): Promise<void> {
  const giveUp = () => abort.abort(new Error("the stream continued after its end"))
  const limit = deadlines.arm(DRAIN_MS, giveUp)
  try {
    let drained = 0
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      drained += piece.value.byteLength
      if (drained > MAX_DRAINED_BYTES) return giveUp()
    }
  } catch {
    // Ended all the same.
  } finally {
    limit.clear()
  }
}
