// Requests of real clients against the rules for bodies: none is rejected for its spelling, and all other rejections
// are documented.
import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../src/canonical/gateway-error.ts"
import { protocols } from "../../src/protocols.ts"
import { sampleSize } from "../recordings/recorded.ts"
import { type ClientRequest, clientRequests } from "./wire.ts"

/** Members that name objects of the recorder's own account, or choose models inside a host. */
const ON_PURPOSE = [
  ...["container", "container_id", "conversation", "file_id", "file_ids", "vector_store_ids", "cachedContent"],
  ...["fileUri", "file_uri", "fileSearch", "modelArmorConfig", "preset", "model"],
]

function refusalOf({ protocol, body }: ClientRequest): GatewayError | undefined {
  try {
    protocols.find(({ id }) => id === protocol)?.bodyGuard.check(body)
    return undefined
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
}

describe("requests of real clients", () => {
  const refused = clientRequests().flatMap((request) => {
    const error = refusalOf(request)
    return error ? [{ source: request.source, error }] : []
  })

  test("no request of a real client is rejected for its spelling", () => {
    expect(clientRequests().length).toBeGreaterThanOrEqual(sampleSize(500))
    expect(refused.filter(({ error }) => error.code === "invalid_parameter").map(String)).toEqual([])
  })

  test("no request of a real client is rejected except by a documented rule", () => {
    const unexpected = refused.filter(({ error }) => !ON_PURPOSE.includes(error.param?.replace(/.*\./, "") ?? ""))
    expect(unexpected.map(({ source, error }) => `${source}: ${error.message}`)).toEqual([])
  })
})
