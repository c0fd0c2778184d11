import { describe, expect, test } from "bun:test"
import type { FunctionTool, HostedTool, ToolChoice } from "../../../../canonical/chat/chat-request.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import * as models from "../codec.fixture.ts"
import { call, encoded, tool as f, refusal, request, result, text, turnOf } from "../codec.fixture.ts"

describe("a tool", () => {
  const tool = (more: Partial<FunctionTool>, model = models.CLAUDE) => {
    const { body, lost } = encoded(request({ tools: [{ ...f, ...more }] }), { model })
    return { spec: (body.toolConfig as { tools: { toolSpec: JsonObject }[] }).tools[0]?.toolSpec, lost }
  }

  test("a tool's input schema is always an object", () => {
    const schema = (parameters: FunctionTool["parameters"]) => {
      const { spec, lost } = tool(parameters === undefined ? {} : { parameters })
      const { json } = (spec?.inputSchema ?? {}) as { json?: JsonObject }
      return { ...json, lost } as object
    }
    expect(schema({ properties: {} })).toEqual({ type: "object", properties: {}, lost: [] })
    const $defs = { T: { type: "object", properties: { a: { type: "string" } } } }
    expect(schema({ $ref: "#/$defs/T", $defs })).toEqual({ ...$defs.T, $defs, lost: [] })
    const variants = [
      { properties: { a: {} }, required: ["a", "c"] },
      { properties: { b: {} }, required: ["b", "c"] },
    ]
    expect(schema({ anyOf: variants })).toEqual({
      type: "object",
      properties: { a: {}, b: {} },
      required: ["c"],
      lost: ["approximated tools[0].parameters.anyOf (meaning)"],
    })
    expect(schema({ $ref: "#/$defs/T", $defs: { T: { $ref: "#/$defs/T" } } })).toMatchObject({ type: "object" })
  })

  test("a tool is strict if the model enforces its schema", () => {
    const parameters = { type: "object", properties: { a: { type: "integer", minimum: 1 } } }
    expect(tool({ strict: true, parameters })).toEqual({
      spec: {
        name: "f",
        description: "d",
        inputSchema: {
          json: {
            type: "object",
            properties: { a: { type: "integer", description: "{minimum: 1}" } },
            additionalProperties: false,
          },
        },
        strict: true,
      },
      lost: [
        "approximated tools[0].parameters.properties.a.minimum (meaning)",
        "approximated tools[0].parameters.additionalProperties (meaning)",
      ],
    })
    expect(tool({ strict: true, parameters }, models.NOVA)).toEqual({
      spec: { name: "f", description: "d", inputSchema: { json: parameters } },
      lost: ["dropped tools[0].strict (hint)"],
    })
  })

  test("a tool with text input becomes a function of one string", () => {
    const format = { type: "grammar", syntax: "lark", definition: "x" }
    const { body, lost } = encoded(request({ tools: [{ kind: "custom", at: "tools[0]", name: "sh", format }] }))
    const json = { type: "object", properties: { input: { type: "string" } }, required: ["input"] }
    expect(body.toolConfig).toEqual({ tools: [{ toolSpec: { name: "sh", inputSchema: { json } } }] })
    expect(lost).toEqual(["approximated tools[0] (meaning)"])
  })

  const search: HostedTool = {
    kind: "hosted",
    at: "tools[0]",
    name: "web_search",
    purpose: "web-search",
    protocol: "anthropic-messages",
    value: { type: "web_search_20250305", name: "web_search", max_uses: 3 },
  }

  test("a hosted tool maps to the model's own, or is dropped", () => {
    const nova = encoded(request({ tools: [search] }), { model: models.NOVA })
    expect(nova.body.toolConfig).toEqual({ tools: [{ systemTool: { name: "nova_grounding" } }] })
    expect(nova.lost).toEqual(["approximated tools[0].max_uses (hint)"])
    const claude = encoded(request({ tools: [search] }))
    expect(claude.body.toolConfig).toBeUndefined()
    expect(claude.lost).toEqual(["dropped tools[0] (meaning)"])
  })

  test("a hosted tool cannot be forced", () => {
    for (const model of [models.NOVA, models.CLAUDE]) {
      const toolChoice = { mode: "tool", name: "web_search" } as const
      const error = refusal(() => encoded(request({ tools: [search], toolChoice }), { model }))
      expect(error).toMatchObject({ code: "unsupported_parameter", param: "tool_choice" })
    }
  })
})

describe("the tool choice", () => {
  const g = { ...f, at: "tools[1]", name: "g" }
  const history = [turnOf("user", text("a")), turnOf("assistant", call("1")), turnOf("user", result("1"))]
  const chosen = (toolChoice: ToolChoice | undefined, changes: { model?: string; turns?: typeof history } = {}) => {
    const { turns, ...context } = changes
    const given = request({ tools: [f, g], ...(toolChoice && { toolChoice }), ...(turns && { turns }) })
    const { body, lost } = encoded(given, context)
    const { tools = [], toolChoice: choice } = (body.toolConfig ?? {}) as {
      tools?: JsonObject[]
      toolChoice?: JsonObject
    }
    const names = tools.map(({ toolSpec }) => (toolSpec as JsonObject).name)
    return { names, choice, system: body.system, lost }
  }
  const none = { choice: undefined, system: undefined, lost: [] }

  test("the default tool choice is omitted", () => {
    expect(chosen(undefined)).toEqual({ ...none, names: ["f", "g"] })
    expect(chosen({ mode: "auto" })).toEqual({ ...none, names: ["f", "g"] })
  })

  test("the tool choice may force one tool or any", () => {
    expect(chosen({ mode: "required" })).toEqual({ ...none, names: ["f", "g"], choice: { any: {} } })
    expect(chosen({ mode: "tool", name: "g" })).toEqual({ ...none, names: ["f", "g"], choice: { tool: { name: "g" } } })
  })

  test("a choice among some tools omits the others", () => {
    const lost = ["dropped tools[0] (hint)"]
    const some = { mode: "some", names: ["g"] } as const
    expect(chosen({ ...some, required: false })).toEqual({ ...none, names: ["g"], lost })
    expect(chosen({ ...some, required: true })).toEqual({
      ...none,
      names: ["g"],
      choice: { any: {} },
      lost,
    })
  })

  test("a choice of no tool omits all, or goes to the prompt if tools were called before", () => {
    expect(chosen({ mode: "none" })).toEqual({
      ...none,
      names: [],
      lost: ["dropped tools[0] (hint)", "dropped tools[1] (hint)"],
    })
    expect(chosen({ mode: "none" }, { turns: history })).toEqual({
      names: ["f", "g"],
      choice: undefined,
      system: [{ text: "Do not call any tool now." }],
      lost: ["approximated toolChoice (meaning)"],
    })
  })

  test("models that cannot be forced get the tool choice in the prompt", () => {
    const lost = ["approximated toolChoice (meaning)"]
    const system = [{ text: "Call one of the tools now." }]
    expect(chosen({ mode: "required" }, { model: models.LLAMA })).toEqual({ ...none, names: ["f", "g"], system, lost })
    expect(chosen({ mode: "tool", name: "g" }, { model: models.LLAMA })).toMatchObject({
      names: ["g"],
      system: [{ text: "Call the tool `g` now." }],
    })
  })

  test("a choice of an undeclared tool is refused", () => {
    const error = refusal(() => chosen({ mode: "tool", name: "h" }))
    expect(error).toMatchObject({ code: "unsupported_parameter", param: "tool_choice" })
    expect(refusal(() => encoded(request({ toolChoice: { mode: "required" } })))).toMatchObject({
      param: "tool_choice",
    })
  })

  test("tools that were called before are declared even if the request has none", () => {
    const { body, lost } = encoded(request({ turns: history }))
    expect(body.toolConfig).toEqual({ tools: [{ toolSpec: { name: "f", inputSchema: { json: { type: "object" } } } }] })
    expect(lost).toEqual(["approximated tools (meaning)"])
  })
})
