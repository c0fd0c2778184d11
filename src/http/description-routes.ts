// GET /openapi.json and GET /docs: the interface described, for machines and for people. Made on first need, then kept.
import { createHash } from "node:crypto"
import { ClientAnswer } from "../exchange/client-answer.ts"
import type { Protocol } from "../protocols/contract.ts"
import { docsPage } from "./docs-page.ts"
import { describeInterface } from "./openapi.ts"
import type { Route, Visit } from "./visit.ts"

interface DescriptionOptions {
  /** Words the errors. */
  readonly protocol: Protocol
  readonly version: string
}

interface Document {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly etag: string
  readonly headers: Readonly<Record<string, string>>
}

/** These routes with those that describe them, and themselves. */
export function withDescription(described: readonly Route[], { protocol, version }: DescriptionOptions): Route[] {
  const open = { method: "GET", who: "anyone", bodyLimit: 0, protocol, generates: false } as const
  const description = once(() => describeInterface(routes, version))
  const json = once(() => {
    const headers = { "content-type": "application/json" }
    return documentOf(JSON.stringify(description()), headers)
  })
  const page = once(() => {
    const { html, policy } = docsPage(description())
    const headers = { "content-type": "text/html; charset=utf-8", "content-security-policy": policy }
    return documentOf(html, { ...headers, "referrer-policy": "no-referrer" })
  })
  const routes: Route[] = [
    ...described,
    { ...open, name: "GET /openapi.json", path: "/openapi.json", handle: (visit) => served(json(), visit) },
    { ...open, name: "GET /docs", path: "/docs", handle: (visit) => served(page(), visit) },
  ]
  return routes
}

function served({ bytes, etag, headers }: Document, { request, record }: Visit): ClientAnswer {
  const known = request.headers
    .get("if-none-match")
    ?.split(",")
    .some((tag) => tag.trim().replace(/^W\//, "") === etag)
  record.status = known ? 304 : 200
  const answer = new ClientAnswer(known ? null : bytes, record.status)
  for (const [name, value] of Object.entries(headers)) answer.headers.set(name, value)
  answer.headers.set("etag", etag)
  answer.headers.set("cache-control", "no-cache")
  answer.headers.set("x-content-type-options", "nosniff")
  answer.headers.set("x-request-id", record.requestId)
  return answer
}

function documentOf(text: string, headers: Document["headers"]): Document {
  const bytes = new TextEncoder().encode(text)
  return { bytes, headers, etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"` }
}

function once<Made>(make: () => Made): () => Made {
  let made: { readonly value: Made } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
