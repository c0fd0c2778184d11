// Admin changes are synced to disk before they are confirmed, so a power loss cannot undo them.
import { GatewayError } from "../../canonical/gateway-error.ts"

/** Resolves when all earlier writes are on disk. */
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
