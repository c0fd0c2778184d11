import { describe, expect, test } from "bun:test"
import type { PartStart, StreamEvent } from "../../canonical/chat/stream-event.ts"
import { outlineJson } from "../../transport/json/json-scan.ts"
import type { Attempt } from "../lanes/lane.ts"
import { AnswerTranscript } from "../streams/answer-transcript.ts"
import { isTruncated, requestedFormat, StreamFormatCheck } from "./answer-defects.ts"

function requestWith(body: object) {
  const text = JSON.stringify(body)
  const outlined = outlineJson(text)
  if (!outlined) throw new Error("not an object")
  return requestedFormat({ text, outline: outlined })
}

describe("the requested format", () => {
  test.each([
    { response_format: { type: "json_object" } },
    { response_format: { type: "json_schema", json_schema: { name: "x", schema: {} } } },
    { text: { format: { type: "json_schema", name: "x", schema: {} } } },
    { output_config: { format: { type: "json_schema", schema: {} } } },
    { generationConfig: { responseMimeType: "application/json" } },
  ])("the requested format is JSON in every protocol: %p", (body) => {
    expect(requestWith({ ...body, messages: [] })).toEqual({ tools: false, json: true })
  })

  test("a request without tools and without a JSON format has no requested format", () => {
    expect(requestWith({ messages: [{ content: '"type":"json' }], text: { verbosity: "low" } })).toBeUndefined()
    expect(requestWith({ tools: [] })).toEqual({ tools: true, json: false })
  })
})

const call = (name: string, more: object = {}): PartStart => ({
  ...{ kind: "tool-call", id: "c", name, runsAt: "client" },
  ...more,
})

/** The defects of a stream of these parts, each sent letter by letter. */
function faults(parts: readonly [PartStart, string][], { json = false, reason = "stop" as const } = {}): string[] {
  const transcript = new AnswerTranscript()
  const form = new StreamFormatCheck({ tools: true, json }, transcript)
  for (const [part, [start, text]] of parts.entries()) {
    transcript.addBreak(0)
    if (start.kind === "tool-call") transcript.addText(0, `${start.name}\n`)
    form.hear({ type: "part-start", candidate: 0, part, start })
    for (const letter of text) {
      transcript.addText(0, letter)
      form.hear({ type: "part-delta", candidate: 0, part, text: letter })
    }
  }
  return form.faults({ reason })
}

describe("streamed arguments", () => {
  test("streamed arguments are assigned to their own call, whatever surrounds them", () => {
    const text: [PartStart, string] = [{ kind: "text" }, "I call {"]
    expect(faults([text, [call("f"), '{"a": "x\\ny"}'], [call("g"), ""], text])).toEqual([])
    expect(
      faults([
        [call("f"), '{"a": 1'],
        [call("g"), "{}"],
      ]),
    ).toEqual(["invalid-arguments"])
    expect(faults([text, [call("f"), "{}"], [call("g"), "7"]])).toEqual(["invalid-arguments"])
  })

  test("arguments of tools that take text or that the provider runs are not validated", () => {
    expect(faults([[call("f", { input: "text" }), "plain words"]])).toEqual([])
    expect(faults([[call("f", { runsAt: "provider" }), "{"]])).toEqual([])
  })

  test("arguments that the output limit cut off are not a defect of the provider", () => {
    expect(faults([[call("f"), '{"a":']], { reason: "length" as never })).toEqual([])
  })

  test("arguments of overlapping calls are not validated", () => {
    const transcript = new AnswerTranscript()
    const form = new StreamFormatCheck({ tools: true, json: false }, transcript)
    const delta = (part: number): StreamEvent => ({ type: "part-delta", candidate: 0, part, text: "{" })
    for (const part of [0, 1]) form.hear({ type: "part-start", candidate: 0, part, start: call("f") })
    for (const part of [0, 1]) {
      transcript.addText(0, "{")
      form.hear(delta(part))
    }
    expect(form.faults({ reason: "stop" })).toEqual([])
  })
})

test("streamed JSON is validated only if the answer has no tool call", () => {
  const json = { json: true }
  expect(faults([[{ kind: "text" }, '{"a": [1]}']], json)).toEqual([])
  expect(faults([[{ kind: "text" }, "```json\n{}\n```"]], json)).toEqual(["invalid-json"])
  expect(
    faults(
      [
        [{ kind: "text" }, "no"],
        [call("f"), "{}"],
      ],
      json,
    ),
  ).toEqual([])
  expect(faults([[{ kind: "text" }, "no"]])).toEqual([])
})

test("an answer is truncated if it stops for its length below the requested limit", () => {
  const truncated = (output: number | undefined, { most = undefined as number | undefined, reason = "length" } = {}) =>
    isTruncated(
      { reason: reason as "length" },
      {
        usage: output === undefined ? {} : { output, reasoning: 5 },
        attempt: {
          request: { reading: { outputLimits: { candidates: 1, ...(most && { maxOutputTokens: most }) } } },
          target: { model: { maxOutputTokens: 100 } },
        } as unknown as Attempt,
      },
    )
  expect([truncated(44, { most: 50 }), truncated(45, { most: 50 }), truncated(94), truncated(95)]).toEqual([
    true,
    false,
    true,
    false,
  ])
  expect([truncated(undefined), truncated(1, { reason: "stop" })]).toEqual([false, false])
})
