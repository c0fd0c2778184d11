// The checks of the laws detect faulty requests.
import { describe, expect, test } from "bun:test"
import type { Json, JsonObject } from "../../src/canonical/json.ts"
import { codecs } from "../../src/protocols.ts"
import { DescriptionCheck } from "./description-check.ts"
import { ruleFaults } from "./request-rules.ts"

describe("the check by a description", () => {
  const text = { type: "object", required: ["text"], properties: { type: { const: "text" }, text: { type: "string" } } }
  const image = {
    allOf: [
      { type: "object", properties: { type: { enum: ["image"] } } },
      { required: ["url"], properties: { url: { type: "string", nullable: true } } },
    ],
  }
  const mapping = { text: "#/components/schemas/Text", image: "#/components/schemas/Image" }
  const check = new DescriptionCheck({
    components: {
      schemas: {
        Text: text,
        Image: image,
        Request: {
          type: "object",
          required: ["parts"],
          properties: {
            parts: { type: "array", minItems: 1, items: { $ref: "#/components/schemas/Part" } },
            limit: { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] },
            labels: { type: "object", additionalProperties: { type: "string", maxLength: 3 } },
            free: { type: "object" },
          },
        },
        Part: {
          oneOf: [{ $ref: mapping.text }, { $ref: mapping.image }],
          discriminator: { propertyName: "type", mapping },
        },
      },
    },
  })
  const faults = (value: Json) => check.faults(value, "Request")
  const textPart = { type: "text", text: "hi" }

  test.each<Json>([
    { parts: [textPart] },
    { parts: [textPart, { type: "image", url: null }], limit: null, labels: { a: "b" }, free: { any: ["thing"] } },
  ])("a body that matches the description has no faults: %j", (value) => expect(faults(value)).toEqual([]))

  test.each<[fault: string, value: Json]>([
    ["$: parts is missing", {}],
    ["$.parts: must have 1 items at least, but it is []", { parts: [] }],
    ["$.parts[0]: text is missing", { parts: [{ type: "text" }] }],
    ["$.parts[0].mood: unknown member", { parts: [{ ...textPart, mood: "good" }] }],
    ["$.parts[0].extra: unknown member", { parts: [{ type: "image", url: "u", extra: 1 }] }],
    ['$.limit: none of the alternatives is "many"', { parts: [textPart], limit: "many" }],
    ["$.limit: must be 1 at least, but it is 0", { parts: [textPart], limit: 0 }],
    ['$.labels.a: must be 3 characters at most, but it is "long"', { parts: [textPart], labels: { a: "long" } }],
    ['$.free: must be "object", but it is []', { parts: [textPart], free: [] }],
  ])("a body that does not match the description has the fault %s", (fault, value) =>
    expect(faults(value)).toEqual([fault]),
  )
})

interface RequestCheckCase {
  readonly sound: JsonObject
  /** Changes of the valid request that each break a rule. */
  readonly broken: Readonly<Record<string, JsonObject>>
}

const called = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "1", type: "function", function: { name: "f" } }],
}
const use = { role: "assistant", content: [{ type: "tool_use", id: "1", name: "f", input: {} }] }
const used = { type: "tool_result", tool_use_id: "1" }
const mark = { cache_control: { type: "ephemeral" } }
const words = (text: string, more: JsonObject = {}) => ({ type: "text", text, ...more })
const user = (...content: JsonObject[]) => ({ role: "user", content })
const hi = { role: "user", content: "hi" }
const content = (role: string, ...parts: JsonObject[]) => ({ role, parts })
const open = { type: "object", properties: { a: { type: "string" } } }

const CASES: Readonly<Record<string, RequestCheckCase>> = {
  "openai-chat": {
    sound: { messages: [hi, called, { role: "tool", tool_call_id: "1", content: "" }] },
    broken: {
      "someone between": { messages: [called, hi, { role: "tool", tool_call_id: "1", content: "" }] },
      "no result": { messages: [hi, called] },
      "no call": { messages: [{ role: "tool", tool_call_id: "1", content: "" }] },
      silence: { messages: [hi, { role: "assistant", content: null }] },
      "JSON without the word": { response_format: { type: "json_object" } },
      "a strict schema that is open": {
        tools: [{ type: "function", function: { name: "f", parameters: open, strict: true } }],
      },
    },
  },
  "openai-responses": {
    sound: { input: [hi] },
    broken: {
      "no result": { input: [hi, { type: "function_call", call_id: "1", name: "f", arguments: "{}" }] },
      "JSON without the word": { text: { format: { type: "json_object" } } },
      "a message of nothing": { input: [{ role: "user", content: [] }] },
    },
  },
  "anthropic-messages": {
    sound: { max_tokens: 9, messages: [hi, use, user(used, words("and?"))] },
    broken: {
      "a late result": { messages: [hi, use, user(words("and?"), used)] },
      "no result": { messages: [hi, use, hi] },
      "an empty text": { messages: [user(words(" "))] },
      "white space at the end": { messages: [hi, { role: "assistant", content: "so " }] },
      "five marks": { messages: [user(...Array.from("12345", (text) => words(text, mark)))] },
      "an hour late": { messages: [user(words("a", mark), words("b", { cache_control: { ttl: "1h" } }))] },
      "too much thought": { thinking: { type: "enabled", budget_tokens: 2000 } },
      "no limit": { max_tokens: 0 },
    },
  },
  "gemini-generate": {
    sound: {
      contents: [
        content("user", { text: "hi" }),
        content("model", { functionCall: { name: "f" }, thoughtSignature: "s" }),
        content("user", { functionResponse: { name: "f", response: {} } }),
      ],
    },
    broken: {
      nothing: { contents: [] },
      "a content of nothing": { contents: [content("user")] },
      "no signature": {
        contents: [content("user", { text: "hi" }), content("model", { functionCall: { name: "f" } })],
      },
      "no call": { contents: [content("user", { functionResponse: { name: "f", response: {} } })] },
    },
  },
  "bedrock-converse": {
    sound: { messages: [message("user", { text: "hi" })] },
    broken: {
      "a role twice": { messages: [message("user", { text: "hi" }), message("user", { text: "hi" })] },
      "a text of nothing": { messages: [message("user", { text: "" })] },
      "white space at the end": { messages: [message("user", { text: "hi" }), message("assistant", { text: "so " })] },
      "five marks": {
        system: [..."12345"].flatMap((text) => [{ text }, { cachePoint: { type: "default" } }]),
      },
    },
  },
}

function message(role: string, ...blocks: JsonObject[]): JsonObject {
  return { role, content: blocks }
}

describe.each([...codecs.upstream.keys()])("the rules of %s", (protocol) => {
  const { sound, broken } = CASES[protocol] ?? { sound: {}, broken: {} }
  const model = protocol === "gemini-generate" ? "gemini-3-pro" : "up-1"

  test("a valid request breaks no rule", () => expect(ruleFaults(protocol, { body: sound, model })).toEqual([]))

  test.each(Object.keys(broken))("a request breaks a rule: %s", (name) => {
    expect(ruleFaults(protocol, { body: { ...sound, ...broken[name] }, model })).not.toEqual([])
  })
})
