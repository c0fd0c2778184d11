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
      "The change was made, but the store could not confirm that it is on disk. Check the gateway's log, then verify the change."
    throw new GatewayError("store_unavailable", message, { cause })
  }
  return result
}
