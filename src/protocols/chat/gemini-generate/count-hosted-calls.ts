// Counts Google searches by the metadata of a response.
import type { HostedCallCounter } from "../../../canonical/hosted-calls.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"

/** A grounded response is billed once, whatever the number of queries. */
export function countHostedCalls(): HostedCallCounter {
  let isGrounded = false
  return {
    see(payload) {
      const { candidates } = payload as JsonObject
      isGrounded ||= Array.isArray(candidates) && candidates.some(hasQueries)
    },
    get calls() {
      return isGrounded ? { grounding: 1 } : {}
    },
  }
}

function hasQueries(candidate: Json): boolean {
  const metadata = isObject(candidate) ? candidate.groundingMetadata : undefined
  const queries = isObject(metadata) ? metadata.webSearchQueries : undefined
  return Array.isArray(queries) && queries.length > 0
}
