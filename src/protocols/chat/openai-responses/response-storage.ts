// Storage of responses by the gateway, and the members that report it.
import type { JsonObject } from "../../../canonical/json.ts"
import type { ResponseStorage } from "../../contract.ts"

/** True if a response of this length is stored. */
export function isStored({ store, maxLength = 0 }: ResponseStorage, length: number): boolean {
  return store && length <= maxLength
}

/** The members that report storage, before the response's length is known. */
export function storageMembers(storage: ResponseStorage | undefined): JsonObject {
  if (storage?.id === undefined) return {}
  return { id: storage.id, store: storage.store, previous_response_id: storage.previous ?? null }
}
