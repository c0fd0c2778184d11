// CORS: the headers that let pages of other origins call the gateway and read its responses.
import { gatewayHeaderNames } from "../canonical/response-headers.ts"
import { ClientResponse } from "../exchange/client-response.ts"
import type { RequestHeaders } from "./wire/request-head.ts"

/** Response headers that a page may read. */
const EXPOSED = gatewayHeaderNames().join(", ")
const MAX_AGE_SECONDS = "600"
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/

export class CorsPolicy {
  private readonly origins: ReadonlySet<string>

  /** Origins whose pages may call; `*` is any. */
  constructor(origins: readonly string[]) {
    this.origins = new Set(origins)
  }

  /** The origin of the page that calls, where it may. */
  originOf(headers: RequestHeaders): string | undefined {
    if (this.origins.size === 0) return undefined
    const origin = headers.get("origin")
    return origin !== null && (this.origins.has("*") || this.origins.has(origin)) ? origin : undefined
  }

  /** The response to a preflight request. */
  static preflight(headers: RequestHeaders, methods: readonly string[]): ClientResponse {
    const requested = headers.get("access-control-request-headers")
    const answer = new ClientResponse(null, 204)
    answer.headers.set("access-control-allow-methods", methods.join(", "))
    if (requested !== null && HEADER_NAMES.test(requested))
      answer.headers.set("access-control-allow-headers", requested)
    answer.headers.set("access-control-max-age", MAX_AGE_SECONDS)
    return answer
  }

  /** Lets the page of this origin read the answer. */
  static open(answer: ClientResponse, origin: string): ClientResponse {
    answer.headers.set("access-control-allow-origin", origin)
    answer.headers.set("access-control-expose-headers", EXPOSED)
    answer.headers.append("vary", "origin")
    return answer
  }
}
