import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../../canonical/json.ts"
import { ANSWER_TOOL } from "../answer-tool.ts"
import * as models from "../codec.fixture.ts"
import { encoded, tool as f, request, toolSpec as spec, text } from "../codec.fixture.ts"

describe("the output format", () => {
  const schema = { type: "object", properties: { city: { type: "string", minLength: 1 } }, required: ["city"] }
  const format = { kind: "schema", name: "City", schema, strict: true } as const
  const formed = (changes: Parameters<typeof request>[0] & { model: string }) => {
    const { model, ...given } = changes
    return encoded(request({ settings: { format }, ...given }), { model })
  }
  const answerTool = { toolSpec: { name: ANSWER_TOOL, inputSchema: { json: schema } } }

  test("the format goes to `outputConfig` for models that enforce it", () => {
    const { body, lost } = formed({ model: models.CLAUDE })
    const { textFormat } = body.outputConfig as { textFormat: JsonObject }
    const { jsonSchema } = textFormat.structure as { jsonSchema: { name: string; schema: string } }
    expect(textFormat.type).toBe("json_schema")
    expect(jsonSchema.name).toBe("City")
    expect(JSON.parse(jsonSchema.schema)).toEqual({
      type: "object",
      properties: { city: { type: "string", description: "{minLength: 1}" } },
      required: ["city"],
      additionalProperties: false,
    })
    expect(lost).toEqual([
      "approximated format.schema.properties.city.minLength (meaning)",
      "approximated format.schema.additionalProperties (meaning)",
    ])
  })

  test("the format becomes a required tool for models that enforce only tool input", () => {
    const { body, lost } = formed({ model: models.NOVA })
    expect(body.toolConfig).toMatchObject({ tools: [answerTool], toolChoice: { tool: { name: ANSWER_TOOL } } })
    expect(body.outputConfig).toBeUndefined()
    expect(lost).toEqual(["dropped format.name (hint)", "approximated format (hint)"])
  })

  test("the answer tool is added to the caller's tools", () => {
    const { body } = formed({ model: models.NOVA, tools: [f] })
    expect(body.toolConfig).toMatchObject({ tools: [spec, answerTool], toolChoice: { any: {} } })
    const alone = formed({ model: models.NOVA, tools: [f], toolChoice: { mode: "none" } })
    expect(alone.body.toolConfig).toMatchObject({ tools: [answerTool], toolChoice: { tool: { name: ANSWER_TOOL } } })
  })

  test("the format is dropped if a tool must be called", () => {
    const { body, lost } = formed({ model: models.NOVA, tools: [f], toolChoice: { mode: "required" } })
    expect(body.toolConfig).toEqual({ tools: [spec], toolChoice: { any: {} } })
    expect(lost).toEqual(["dropped format.name (hint)", "dropped format (hint)"])
  })

  test.each<[string, Parameters<typeof formed>[0]]>([
    ["the model does not enforce schemas", { model: models.LLAMA }],
    ["the model is unknown", { model: models.UNKNOWN }],
    ["the model reasons", { model: models.NOVA, settings: { format, reasoning: { effort: "low" } } }],
    [
      "the schema is not an object",
      { model: models.NOVA, settings: { format: { ...format, schema: { type: "array" } } } },
    ],
    ["the caller has a tool of that name", { model: models.NOVA, tools: [{ ...f, name: ANSWER_TOOL }] }],
  ])("the format is requested in the prompt if %s", (_, changes) => {
    const { body, lost } = formed(changes)
    expect((body.system as { text: string }[])[0]?.text).toStartWith("Answer with JSON that fits this JSON Schema")
    expect(lost).toContain("approximated format.schema (meaning)")
  })

  test("JSON without a schema is requested in the prompt, after the instructions", () => {
    const given = { instructions: [text("be kind")], settings: { format: { kind: "json" } } } as const
    const { body, lost } = encoded(request(given))
    expect((body.system as { text: string }[]).map(({ text }) => text.split(" ")[0])).toEqual(["be", "Answer"])
    expect(lost).toEqual(["approximated format (meaning)"])
  })
})
