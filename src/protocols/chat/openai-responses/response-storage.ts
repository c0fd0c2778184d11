// What is asked of the responses that the gateway keeps, and what an answer says of being kept.
import type { JsonObject } from "../../../canonical/json.ts"
import type { ResponseStorage } from "../../contract.ts"

/** Whether an answer of this length is kept. */
export function isStored({ store, maxLength = 0 }: ResponseStorage, length: number): boolean {
  return store && length <= maxLength
}

/** The members of a response by which it says so, before it is known how long it becomes. */
export function storageMembers(storage: ResponseStorage | undefined): JsonObject {
  if (storage?.id === undefined) return {}
  return { id: storage.id, store: storage.store, previous_response_id: storage.previous ?? null }
}
