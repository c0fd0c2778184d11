// GET /openapi.json and GET /docs: the API description, built on first use and cached.

import { createHash } from "node:crypto"
import type { ResponseHeaderFields } from "../canonical/response-headers.ts"
import { ClientResponse } from "../exchange/client-response.ts"
import type { Protocol } from "../protocols/contract.ts"
import { docsPage } from "./docs/docs-page.ts"
import { describeInterface } from "./openapi/describe-interface.ts"
import type { GatewayRoute, RequestContext } from "./request-context.ts"

interface DescriptionOptions {
  /** Words the errors. */
  readonly protocol: Protocol
  readonly version: string
}

interface ServedDocument {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly etag: string
  readonly headers: ResponseHeaderFields
}

/** These routes with those that describe them, and themselves. */
export function withDescription(
  described: readonly GatewayRoute[],
  { protocol, version }: DescriptionOptions,
): GatewayRoute[] {
  const open = { method: "GET", who: "anyone", bodyLimit: 0, protocol, generates: false } as const
  const description = memoize(() => describeInterface(routes, version))
  const json = memoize(() => {
    const headers = { "content-type": "application/json" }
    return documentOf(JSON.stringify(description()), headers)
  })
  const page = memoize(() => {
    const { html, policy } = docsPage(description())
    const headers = { "content-type": "text/html; charset=utf-8", "content-security-policy": policy }
    return documentOf(html, { ...headers, "referrer-policy": "no-referrer" })
  })
  const routes: GatewayRoute[] = [
    ...described,
    { ...open, name: "GET /openapi.json", path: "/openapi.json", handle: (context) => serveDocument(json(), context) },
    { ...open, name: "GET /docs", path: "/docs", handle: (context) => serveDocument(page(), context) },
  ]
  return routes
}

function serveDocument(
  { bytes, etag, headers }: ServedDocument,
  { request, progress }: RequestContext,
): ClientResponse {
  const known = request.headers
    .get("if-none-match")
    ?.split(",")
    .some((tag) => tag.trim().replace(/^W\//, "") === etag)
  const answer = new ClientResponse(known ? null : bytes, known ? 304 : 200)
  answer.headers.setAll(headers)
  answer.headers.set("etag", etag)
  answer.headers.set("cache-control", "no-cache")
  answer.headers.set("x-content-type-options", "nosniff")
  answer.headers.set("x-request-id", progress.requestId)
  return answer
}

function documentOf(text: string, headers: ServedDocument["headers"]): ServedDocument {
  const bytes = new TextEncoder().encode(text)
  return { bytes, headers, etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"` }
}

function memoize<Made>(make: () => Made): () => Made {
  let made: { readonly value: Made } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
