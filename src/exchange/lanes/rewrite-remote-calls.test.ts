// Calls of remote servers' tools in a conversation, as each protocol's hosts receive them.
import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../canonical/json.ts"
import { type TranslatedBody, type TranslateOptions, translateFor } from "./translate-request.fixture.ts"

const SERVER = { type: "url", url: "https://docs.example/mcp", name: "docs" }
const SERVER_TOOL = { type: "mcp", server_label: "docs", server_url: SERVER.url, require_approval: "never" }
const FUNCTION = { name: "look", input_schema: { type: "object" } }

const remoteUse = { type: "mcp_tool_use", id: "mcptoolu_1", name: "find", server_name: "docs", input: { q: "bun" } }
const remoteResult = {
  ...{ type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false },
  content: [{ type: "text", text: "A runtime." }],
}
const textBlock = (text: string) => ({ type: "text", text })

function messages(more: JsonObject = {}): JsonObject {
  return {
    ...{ model: "a/b", max_tokens: 100 },
    messages: [
      { role: "user", content: "What is bun?" },
      {
        role: "assistant",
        content: [textBlock("Let me see."), remoteUse, remoteResult, textBlock("It is a runtime.")],
      },
      { role: "user", content: "Thanks." },
    ],
    ...more,
  }
}

const REMOTE_CALL = {
  ...{ type: "mcp_call", id: "mcp_1", server_label: "docs", name: "find", arguments: '{"q":"bun"}' },
  ...{ output: "A runtime.", error: null, status: "completed", approval_request_id: null },
}

function responses(more: JsonObject = {}): JsonObject {
  const input = [
    { role: "user", content: "What is bun?" },
    REMOTE_CALL,
    { role: "assistant", content: "It is a runtime." },
    { role: "user", content: "Thanks." },
  ]
  return { model: "a/b", input, ...more }
}

interface RewriteOptions extends Omit<TranslateOptions, "context"> {
  readonly lacksRemoteServers?: boolean
}

function translated(request: JsonObject, { lacksRemoteServers = false, ...options }: RewriteOptions) {
  const { body, losses } = translateFor(request, { ...options, context: { lacksRemoteServers } })
  return { body, losses: losses.map(({ path, weight, how }) => `${path} ${weight} ${how}`) }
}

/** The types of the blocks, message by message. */
const blocksOf = ({ messages: sent = [] }: TranslatedBody) =>
  sent.map(({ role, content }) => [role, typeof content === "string" ? content : content.map(({ type }) => type)])

/** The blocks of one message. */
function contentOf({ messages: sent = [] }: TranslatedBody, index: number): readonly JsonObject[] {
  const content = sent[index]?.content
  if (content === undefined || typeof content === "string") throw new Error(`message ${index} has no blocks`)
  return content
}

describe("remote calls between the two protocols that have remote servers", () => {
  test("a remote call in a Messages history becomes an item", () => {
    const { body, losses } = translated(messages({ mcp_servers: [SERVER] }), {
      from: "anthropic-messages",
      to: "openai-responses",
    })
    expect(body.input?.map(({ type }) => type)).toEqual(["message", "message", "mcp_call", "message", "message"])
    expect(body.input?.[2]).toEqual({
      ...{ type: "mcp_call", id: "mcp_1", server_label: "docs", name: "find", arguments: '{"q":"bun"}' },
      output: "A runtime.",
    })
    expect(losses).toEqual([])
  })

  test("a remote call item becomes blocks in Messages", () => {
    const { body, losses } = translated(responses({ tools: [SERVER_TOOL] }), {
      from: "openai-responses",
      to: "anthropic-messages",
    })
    expect(blocksOf(body)).toEqual([
      ["user", "What is bun?"],
      ["assistant", ["mcp_tool_use", "mcp_tool_result", "text"]],
      ["user", "Thanks."],
    ])
    expect(contentOf(body, 1).slice(0, 2)).toEqual([remoteUse, remoteResult])
    expect(losses).toEqual([])
  })

  test("a failed remote call stays a failure", () => {
    const failed = { ...REMOTE_CALL, output: null, error: "no such page", status: "failed" }
    const { body } = translated(responses({ tools: [SERVER_TOOL], input: [{ role: "user", content: "Hi" }, failed] }), {
      from: "openai-responses",
      to: "anthropic-messages",
    })
    expect(contentOf(body, 1)[1]).toMatchObject({ is_error: true, content: [{ text: "no such page" }] })
  })

  test.each([
    ["anthropic-messages", messages({ mcp_servers: [SERVER] })],
    ["openai-responses", responses({ tools: [SERVER_TOOL] })],
  ])("a remote call to its own protocol, %s, stays unchanged", (protocol, body) => {
    const { body: sent, losses } = translated(body, { from: protocol, to: protocol })
    const turns = protocol === "openai-responses" ? "input" : "messages"
    expect<unknown[]>([sent[turns], losses]).toEqual([body[turns], []])
  })
})

const ELSEWHERE = ["openai-chat", "gemini-generate", "bedrock-converse"] as const
const CLIENTS = [
  ["anthropic-messages", messages({ mcp_servers: [SERVER] }), "messages[1].content[1]"],
  ["openai-responses", responses({ tools: [SERVER_TOOL] }), "input[1]"],
] as const

describe.each(CLIENTS)("remote calls from %s to a protocol without remote servers", (from, request, at) => {
  test.each(ELSEWHERE)("a remote call and its result reach %s as those of a client tool", (to) => {
    const { body, losses } = translated(request, { from, to })
    const text = JSON.stringify(body)
    expect(text).toContain("mcp__docs__find")
    expect(text).toContain("A runtime.")
    expect(text).toContain("bun")
    expect(text).toContain("It is a runtime.")
    expect(losses).toContain(`${at} hint approximated`)
    expect(losses.filter((loss) => !loss.startsWith(at) && !/^(mcp_servers|tools)/.test(loss))).toEqual([])
  })
})

test("a chat completion has the result directly after its call", () => {
  const { body } = translated(messages(), { from: "anthropic-messages", to: "openai-chat" })
  const [, calling, result, answer] = body.messages ?? []
  expect(calling).toMatchObject({ content: "Let me see.", tool_calls: [{ function: { arguments: '{"q":"bun"}' } }] })
  expect(result).toEqual({ role: "tool", tool_call_id: calling?.tool_calls?.[0]?.id as string, content: "A runtime." })
  expect(answer).toEqual({ role: "assistant", content: "It is a runtime." })
})

describe("a Messages host without remote servers", () => {
  const there = { to: "anthropic-messages", lacksRemoteServers: true } as const

  test.each(["anthropic-messages", "openai-responses"])(
    "a host without remote servers receives remote calls as plain tool calls if tools are declared, from %s",
    (from) => {
      const tools =
        from === "openai-responses" ? [SERVER_TOOL, { type: "function", name: "look", parameters: null }] : [FUNCTION]
      const request = from === "openai-responses" ? responses({ tools }) : messages({ tools, mcp_servers: [SERVER] })
      const { body } = translated(request, { from, ...there })
      const types = blocksOf(body).flatMap(([, content]) => content)
      expect(types).toContain("tool_use")
      expect(types).toContain("tool_result")
      expect(JSON.stringify(body)).not.toMatch(/"mcp_(servers|tool)/)
    },
  )

  test("a Messages host without remote servers receives remote calls as text if no tool is declared", () => {
    const { body, losses } = translated(messages({ mcp_servers: [SERVER] }), { from: "anthropic-messages", ...there })
    expect(blocksOf(body)[1]).toEqual(["assistant", ["text", "text", "text"]])
    expect(contentOf(body, 1)[1]?.text).toBe(
      'The tool find of the remote server docs was called with {"q":"bun"} and answered:\nA runtime.',
    )
    expect(body.mcp_servers).toBeUndefined()
    expect(losses).toEqual(["messages[1].content[1] hint approximated", "mcp_servers[0] meaning dropped"])
  })

  test("a Messages host without remote servers receives no server, and each is reported as a loss", () => {
    const toolset = { type: "mcp_toolset", mcp_server_name: "docs" }
    const request = {
      ...messages({ mcp_servers: [SERVER], tools: [toolset, FUNCTION] }),
      messages: [{ role: "user", content: "Hi" }],
    }
    const { body, losses } = translated(request, { from: "anthropic-messages", ...there })
    expect([body.mcp_servers, body.tools]).toEqual([undefined, [FUNCTION]])
    expect(losses).toEqual(["tools[0] meaning dropped"])
  })

  test("a Messages host without remote servers receives no server of an unknown form either", () => {
    const request = {
      ...messages({ mcp_servers: [{ ...SERVER, newer: 1 }] }),
      messages: [{ role: "user", content: "Hi" }],
    }
    const { body, losses } = translated(request, { from: "anthropic-messages", ...there })
    expect([body.mcp_servers, losses]).toEqual([undefined, ["mcp_servers meaning dropped"]])
  })

  test.each([{ type: "any" }, { type: "tool", name: "find" }])(
    "a request that requires a remote tool is rejected for a Messages host without remote servers: %j",
    (choice) => {
      const request = messages({ mcp_servers: [SERVER], tool_choice: choice })
      expect(() => translated(request, { from: "anthropic-messages", ...there })).toThrow("`tool_choice` demands")
    },
  )
})

test("a call without a result and a result without a call are reported as losses", () => {
  const alone = (block: JsonObject) =>
    messages({
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: [textBlock("So."), block] },
      ],
    })
  for (const block of [remoteUse, remoteResult]) {
    const { losses } = translated(alone(block), { from: "anthropic-messages", to: "openai-chat" })
    expect(losses).toEqual(["messages[1].content[1] meaning dropped"])
  }
})

test("lists of a server's tools and approvals are dropped and reported as losses", () => {
  const list = { type: "mcp_list_tools", id: "mcpl_1", server_label: "docs", tools: [] }
  const approval = { type: "mcp_approval_request", id: "mcpr_1", server_label: "docs", name: "find", arguments: "{}" }
  const { losses } = translated(responses({ input: [{ role: "user", content: "Hi" }, list, approval] }), {
    ...{ from: "openai-responses", to: "openai-chat" },
  })
  expect(losses).toEqual(["input[1] meaning dropped", "input[2] meaning dropped"])
})
