// Law: a loss is named by a path that exists in the client's request.
import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../src/canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../src/canonical/json.ts"
import { translateFor } from "../../src/exchange/lanes/translate-request.fixture.ts"
import { codecs } from "../../src/protocols.ts"
import { clientRequests } from "./wire.ts"

/** Whether a path such as `tools[0].googleSearch` leads to a member of the body. */
function leadsInto(body: Json, path: string): boolean {
  let at: Json | undefined = body
  // A member that the caller omitted, and the target requires.
  if (/^\w+$/.test(path)) return true
  for (const [, name, index] of path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)) {
    if (index !== undefined) at = Array.isArray(at) ? at[Number(index)] : undefined
    else at = isObject(at) && name !== undefined ? (at[name] ?? at[otherCase(name)]) : undefined
    if (at === undefined) return false
  }
  return true
}

/** Google takes both spellings of its members. */
function otherCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

interface SentRequest {
  readonly protocol: string
  readonly body: JsonObject
}

/** The paths that lead nowhere, of one request to every other protocol. */
function strayPaths({ protocol: from, body }: SentRequest): string[] {
  return [...codecs.upstream.keys()].flatMap((to) => {
    if (to === from) return []
    try {
      const { losses } = translateFor(body, { from, to })
      return losses.filter(({ path }) => !leadsInto(body, path)).map(({ path }) => `${to}: ${path}`)
    } catch (thrown) {
      if (!(thrown instanceof GatewayError) || thrown.owner !== "caller") throw thrown
      const { param } = thrown
      return param === undefined || leadsInto(body, param) ? [] : [`${to}: ${param} of a refusal`]
    }
  })
}

const HI = { role: "user", content: "Hi" }
const remote = { type: "mcp", server_label: "docs", server_url: "https://docs.example/mcp" }

/** Every kind of tool that a vendor runs or defines itself, one or more to a request. */
const HOSTED: Readonly<Record<string, readonly JsonObject[]>> = {
  "openai-chat": [{ web_search_options: { search_context_size: "low" } }, { tools: [{ type: "computer" }] }],
  "openai-responses": [
    ...["web_search", "web_search_preview", "image_generation", "shell", "apply_patch", "tool_search", "local_shell"],
    ...["computer_use_preview"],
  ].map((type): JsonObject => ({ tools: [{ type }] })),
  "anthropic-messages": [
    ...["web_search_20250305", "web_fetch_20250910", "code_execution_20250825", "bash_20250124"],
    ...["text_editor_20250728", "computer_20250124", "memory_20250818", "tool_search_tool_regex_20251119"],
  ].map((type): JsonObject => ({ tools: [{ type, name: type.replace(/_\d+$/, "") }] })),
  "gemini-generate": [
    ...["googleSearch", "google_search", "googleSearchRetrieval", "urlContext", "codeExecution", "computerUse"],
    ...["fileSearch", "retrieval", "googleMaps", "enterpriseWebSearch"],
  ].map((name): JsonObject => ({ tools: [{ [name]: {} }] })),
}

const MORE: Readonly<Record<string, readonly JsonObject[]>> = {
  "openai-chat": [
    { tools: [{ type: "function", function: { name: "f", strict: true, parameters: { type: "object", $defs: {} } } }] },
  ],
  "openai-responses": [
    { tools: [{ ...remote, require_approval: "always" }] },
    { tools: [{ ...remote, require_approval: "never" }] },
    { tools: [{ type: "code_interpreter", container: { type: "auto" } }] },
    {
      tools: [{ type: "web_search", user_location: { type: "approximate", city: "Rome" }, search_context_size: "low" }],
    },
    { tools: [{ type: "custom", name: "c", format: { type: "grammar", syntax: "lark", definition: "x" } }] },
  ],
  "anthropic-messages": [
    { mcp_servers: [{ type: "url", url: "https://docs.example/mcp", name: "docs" }] },
    {
      mcp_servers: [{ type: "url", url: "https://docs.example/mcp", name: "docs" }],
      tools: [{ type: "mcp_toolset", mcp_server_name: "docs" }],
    },
    { tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 2, cache_control: { type: "ephemeral" } }] },
  ],
  "gemini-generate": [
    {
      tools: [{ googleSearch: { timeRangeFilter: {} }, codeExecution: {} }, { functionDeclarations: [{ name: "f" }] }],
    },
  ],
}

function bodyWith(protocol: string, more: JsonObject): JsonObject {
  if (protocol === "gemini-generate") return { contents: [{ role: "user", parts: [{ text: "Hi" }] }], ...more }
  if (protocol === "openai-responses") return { model: "a/b", input: "Hi", ...more }
  return { model: "a/b", messages: [HI], ...(protocol === "anthropic-messages" && { max_tokens: 100 }), ...more }
}

describe.each(Object.keys(HOSTED))("loss paths of a request in %s", (protocol) => {
  const requests = [...(HOSTED[protocol] ?? []), ...(MORE[protocol] ?? [])]

  test.each(requests.map((more) => [JSON.stringify(more), more] as const))(
    "every loss path exists in the request with %s",
    (_, more) => {
      expect(strayPaths({ protocol, body: bodyWith(protocol, more) })).toEqual([])
    },
  )

  test("every loss path exists in the requests of real clients", () => {
    const sent = clientRequests().filter((request) => request.protocol === protocol)
    const stray = sent.flatMap(({ source, body }) => strayPaths({ protocol, body }).map((path) => `${source}: ${path}`))
    const kinds = new Map<string, string>()
    for (const path of stray) kinds.set(path.replace(/^.*?: (?=[a-z-]+: )/, "").replace(/\[\d+\]/g, "[]"), path)
    expect([...kinds.values()]).toEqual([])
  })
})
