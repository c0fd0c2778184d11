// Recorded exchanges through the codec, if available, and its output against the published description.
import { describe, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { recordings, sampleSize, streamText } from "../../../../test/recordings/recorded.ts"
import { assembleResponse } from "../../../canonical/chat/assemble-response.ts"
import type { ChatResponse } from "../../../canonical/chat/chat-response.ts"
import type { ContentPart } from "../../../canonical/chat/content-part.ts"
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { violations } from "../../../simulator/schema/schema-check.fixture.ts"
import { encodeByteText } from "../../../transport/json/byte-text.ts"
import { answering, DECODING, encodeContext, eventsIn, readStream, sent, writeStream } from "./codec.fixture.ts"
import { openaiResponsesCodec } from "./codec.ts"
import { checkGrammar } from "./encode/stream-grammar.fixture.ts"

const { ingress, upstream } = openaiResponsesCodec

const answers = recordings("responses").flatMap(({ source, status, response: { body } }) =>
  status === 200 && isObject(body) && Array.isArray(body.output) && body.error === null ? [{ source, body }] : [],
)
const streams = recordings("responses").flatMap((recording) => {
  const text = recording.status === 200 ? streamText(recording) : undefined
  return text && /response\.(completed|incomplete)/.test(text) ? [{ source: recording.source, text }] : []
})

/** A whole response as the vendor would stream it. */
function streamed(body: JsonObject): string {
  const output = body.output as readonly JsonObject[]
  const itemEvents = output.flatMap((item, output_index) => [
    { type: "response.output_item.added", output_index, item: { ...item, content: [], summary: [] } },
    ...deltas(item).map((event) => ({ ...event, output_index })),
    { type: "response.output_item.done", output_index, item },
  ])
  return sent({ type: "response.created", response: { ...body, output: [], usage: null } }, ...itemEvents, {
    type: body.status === "incomplete" ? "response.incomplete" : "response.completed",
    response: body,
  })
}

function deltas(item: JsonObject): JsonObject[] {
  const pieces = (value: Json | undefined, type: string, more: JsonObject = {}) =>
    typeof value === "string" ? (value.match(/[\s\S]{1,7}/gu) ?? []).map((delta) => ({ type, delta, ...more })) : []
  const texts = (list: Json | undefined, type: string, index: string) =>
    (Array.isArray(list) ? list : []).flatMap((part: Json, at) => {
      if (!isObject(part)) return []
      const deltas = pieces(part.text ?? part.refusal, part.type === "refusal" ? "response.refusal.delta" : type, {
        [index]: at,
      })
      const noted = Array.isArray(part.annotations) ? part.annotations : []
      return [
        ...deltas,
        ...noted.map((annotation: Json) => ({
          type: "response.output_text.annotation.added",
          content_index: at,
          annotation,
        })),
      ]
    })
  if (item.type === "message") return texts(item.content, "response.output_text.delta", "content_index")
  if (item.type === "reasoning") {
    return [
      ...texts(item.summary, "response.reasoning_summary_text.delta", "summary_index"),
      ...texts(item.content, "response.reasoning_text.delta", "content_index"),
    ]
  }
  if (item.type === "function_call") return pieces(item.arguments, "response.function_call_arguments.delta")
  if (item.type === "custom_tool_call") return pieces(item.input, "response.custom_tool_call_input.delta")
  return item.type === "code_interpreter_call" ? pieces(item.code, "response.code_interpreter_call_code.delta") : []
}

describe("recorded exchanges", () => {
  test("every recorded response equals the response assembled from its stream", () => {
    expect(answers.length).toBeGreaterThanOrEqual(sampleSize(40))
    for (const { source, body } of answers) {
      const whole = upstream.decodeResponse(body, DECODING)
      expect([source, whole]).toEqual([source, assembleResponse(readStream([streamed(body)]))])
    }
  })

  test("every recorded stream is assembled into the response of its last event", () => {
    expect(streams.length).toBeGreaterThanOrEqual(sampleSize(40))
    let compared = 0
    for (const { source, text } of streams) {
      const last = eventsIn(text).at(-1)?.response
      // Copilot uses other names in the last event, and some responses were recorded without their text.
      if (!isObject(last) || !Array.isArray(last.output) || last.output.length === 0 || text.includes("copilot"))
        continue
      if (isTrimmed(text, last)) continue
      const whole = upstream.decodeResponse(last, DECODING)
      expect([source, comparable(assembleResponse(readStream([text])))]).toEqual([
        source,
        comparable(whole as ChatResponse),
      ])
      compared++
    }
    expect(compared).toBeGreaterThanOrEqual(sampleSize(20))
  })

  test("every recorded response, encoded again, has the same content in the same items", () => {
    for (const { source, body } of answers) {
      const context = encodeContext()
      const canonical = upstream.decodeResponse(body, DECODING) as ChatResponse
      const again = ingress.encodeResponse(canonical, context)
      expect([source, context.losses]).toEqual([source, []])
      const back = upstream.decodeResponse(again, DECODING) as ChatResponse
      expect([source, shown(back)]).toEqual([source, shown(canonical)])
      expect([source, counted(back)]).toEqual([source, counted(canonical)])
    }
  })

  test("every recorded stream, encoded again, is valid and equivalent, wherever it is cut", () => {
    for (const { source, text } of streams) {
      const events = readStream([text])
      const frames = writeStream(events)
      expect([source, fault(() => checkGrammar(frames))]).toEqual([source, undefined])
      const again = readStream(frames.join("").match(/[\s\S]{1,3000}/g) ?? [])
      expect([source, shown(assembleResponse(again))]).toEqual([source, shown(assembleResponse(events))])
    }
  })
})

/** Some streams were recorded with only the first words of each text. */
function isTrimmed(text: string, { output }: JsonObject): boolean {
  const deltas = eventsIn(text).flatMap(({ type, delta }) => (type === "response.output_text.delta" ? [delta] : []))
  const shownThen = JSON.stringify(output).length
  return deltas.length > 0 && deltas.join("").length < shownThen / 20
}

function fault(check: () => void): unknown {
  try {
    check()
    return undefined
  } catch (error) {
    return error
  }
}

/** Without parts that only this protocol knows, because OpenAI omits some in either place. */
function comparable({ candidates, usage }: ChatResponse): unknown {
  const isPortable = ({ kind }: ContentPart) => kind !== "foreign"
  return {
    usage,
    candidates: candidates.map(({ parts, finish }) => ({ finish, parts: parts.filter(isPortable).map(unsealed) })),
  }
}

/** Unknown counts are 0 in this protocol. */
function counted({ usage = {} }: ChatResponse): unknown {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count > 0))
}

/** Each event may have a new seal. */
function unsealed(part: ContentPart): unknown {
  // OpenAI gives some of its own calls a new id in every event.
  if (part.kind === "tool-call" && part.runsAt === "provider") return { ...part, id: "" }
  if (part.kind === "tool-result") return { ...part, callId: "", parts: [] }
  const { sealed, ...rest } = part as ContentPart & { sealed?: unknown }
  return { ...rest, isSealed: sealed !== undefined }
}

/** The parts and their order; ids and seals are generated. */
function shown({ candidates }: ChatResponse): unknown {
  return candidates.map(({ parts, finish }) => ({
    finish,
    parts: parts.flatMap((part): unknown[] => {
      if ("text" in part && part.text === "" && !("sealed" in part)) return []
      if (part.kind === "reasoning") return [{ kind: part.kind, text: part.text, isSealed: part.sealed !== undefined }]
      if (part.kind === "tool-call") return part.runsAt === "client" ? [{ ...part, sealed: undefined }] : []
      if (part.kind === "text") return [{ ...part, citations: part.citations?.map(({ url, title }) => url || title) }]
      return [part]
    }),
  }))
}

const description = join(process.env.TRIVIUM_TEST_WIRE ?? "(TRIVIUM_TEST_WIRE is not set)", "specs/openresponses.json")
/** Skipped if the description file is missing. */
const described = test.skipIf(!existsSync(description))

describe("the Open Responses description", () => {
  const body = {
    model: "a/b",
    input: "hi",
    tools: [{ type: "function", name: "f", parameters: { type: "object" } }],
    tool_choice: { type: "function", name: "f" },
    reasoning: { effort: "low", summary: "auto" },
    text: { format: { type: "json_object" }, verbosity: "low" },
    metadata: { a: "b" },
  }
  const parts: ContentPart[] = [
    { kind: "reasoning", form: "full", text: "hm", sealed: { mintedBy: "m", data: "d" } },
    { kind: "text", text: "a", citations: [{ url: "https://x", title: "t" }] },
    { kind: "refusal", text: "no" },
    { kind: "tool-call", id: "c", name: "f", arguments: "{}", runsAt: "client" },
  ]
  const response: ChatResponse = {
    candidates: [
      { index: 0, parts, finish: { reason: "length" }, logprobs: [{ token: "a", logprob: -1, others: [] }] },
    ],
    usage: { input: 1, output: 2 },
  }

  described("a whole response matches the description", () => {
    const schema = readSchema()
    const whole = ingress.encodeResponse(response, answering(body))
    expect(violations(whole, { $ref: "#/components/schemas/ResponseResource" }, schema)).toEqual([])
    expect(
      violations(
        ingress.encodeResponse({ candidates: [] }, encodeContext()),
        { $ref: "#/components/schemas/ResponseResource" },
        schema,
      ),
    ).toEqual([])
  })

  described("every event of a stream matches the description", () => {
    const schema = readSchema()
    const known = Object.entries((schema.components as { schemas: JsonObject }).schemas)
    const again = readStream([encodeByteText(streamed(ingress.encodeResponse(response, answering(body))))])
    const events = eventsIn(writeStream(again, answering(body)).join(""))
    expect(events.length).toBeGreaterThan(15)
    for (const event of events) {
      const [name] = known.find(([, each]) => JSON.stringify(each).includes(`"enum":["${event.type}"]`)) ?? []
      expect([event.type, name]).not.toEqual([event.type, undefined])
      expect([event.type, violations(event, { $ref: `#/components/schemas/${name}` }, schema)]).toEqual([
        event.type,
        [],
      ])
    }
  })
})

function readSchema(): JsonObject {
  return JSON.parse(readFileSync(description, "utf8"))
}
