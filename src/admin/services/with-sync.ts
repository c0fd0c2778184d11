// What an operator is told was done is on disk by then: a loss of power does not undo it.
import { GatewayError } from "../../canonical/gateway-error.ts"

/** Resolves when all that was written before is on disk. */
export type SyncStore = () => Promise<void>

export async function withSync<Result>(done: Result | Promise<Result>, sync: SyncStore): Promise<Result> {
  const result = await done
  try {
    await sync()
  } catch (cause) {
    const message =
      "This was done, but the store cannot say that it is on disk. See the gateway's log, then look again."
    throw new GatewayError("store_unavailable", message, { cause })
  }
  return result
}
