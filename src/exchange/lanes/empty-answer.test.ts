import { describe, expect, test } from "bun:test"
import type { CandidateFinish } from "../../canonical/chat/chat-response.ts"
import type { ContentPart } from "../../canonical/chat/content-part.ts"
import type { StreamEvent } from "../../canonical/chat/stream-event.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"
import { EmptyAnswerCheck, refuseEmptyAnswer } from "./empty-answer.ts"

const MALFORMED: CandidateFinish = { reason: "other", word: "MALFORMED_FUNCTION_CALL" }
const thought: ContentPart = { kind: "reasoning", form: "summary", text: "hm" }

function refusal(parts: readonly ContentPart[], finish: CandidateFinish = MALFORMED): string | undefined {
  try {
    refuseEmptyAnswer({ candidates: [{ index: 0, parts, finish }] })
    return undefined
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    expect(error).toMatchObject({ code: "upstream_unavailable", owner: "upstream" })
    return error.message
  }
}

describe("a whole answer without content", () => {
  test("an empty answer with a vendor-specific stop reason is an error that names the reason", () => {
    expect(refusal([])).toContain("MALFORMED_FUNCTION_CALL")
    expect(refusal([thought, { kind: "text", text: "" }])).toContain("MALFORMED_FUNCTION_CALL")
  })

  test("a whole answer with text, a call or a known stop reason is not an error", () => {
    expect(refusal([{ kind: "text", text: "a" }])).toBeUndefined()
    expect(refusal([{ kind: "tool-call", id: "1", name: "f", arguments: "", runsAt: "client" }])).toBeUndefined()
    expect(refusal([], { reason: "stop" })).toBeUndefined()
    expect(refusal([], { reason: "filtered", word: "SAFETY" })).toBeUndefined()
  })

  test("the error of an empty answer never repeats a malformed stop reason", () => {
    expect(refusal([], { reason: "other", word: "<script> secret" })).not.toContain("secret")
  })
})

describe("a streamed answer without content", () => {
  const start = (part: number, kind: "text" | "reasoning"): StreamEvent => ({
    type: "part-start",
    candidate: 0,
    part,
    start: kind === "text" ? { kind } : { kind, form: "summary" },
  })
  const say = (part: number, text: string): StreamEvent => ({ type: "part-delta", candidate: 0, part, text })
  const end: StreamEvent = { type: "candidate-end", candidate: 0, finish: MALFORMED }
  const checked = (events: readonly StreamEvent[]) => {
    const check = new EmptyAnswerCheck()
    return events.map((event) => check.check(event).type)
  }

  test("a streamed answer without content ends in an error, even after thoughts", () => {
    expect(checked([end])).toEqual(["stream-error"])
    expect(checked([start(0, "reasoning"), say(0, "hm"), start(1, "text"), end]).at(-1)).toBe("stream-error")
  })

  test("a streamed answer with any text is not an error", () => {
    const events = [start(0, "reasoning"), say(0, "hm"), start(1, "text"), say(1, "a"), end]
    expect(checked(events).at(-1)).toBe("candidate-end")
  })
})
