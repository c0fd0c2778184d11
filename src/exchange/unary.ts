// A unary answer: read whole, then given to the client as the lane has it.

import { GatewayError } from "../canonical/error.ts"
import { decodeByteText, decodeUtf8, toByteText } from "../transport/byte-text.ts"
import { failure } from "../transport/http-client.ts"
import { findMember, outline } from "../transport/json-scan.ts"
import { readAll } from "../transport/read-all.ts"
import { marksOf } from "./answer-marks.ts"
import { type Sending, timeLeft, type Won } from "./attempt.ts"
import type { ClientAnswer } from "./client-answer.ts"
import { tallyHostedCalls } from "./hosted-call-tally.ts"
import type { Answered, Attempt } from "./lane.ts"
import { noteAnswered, noteHome } from "./noted-answer.ts"
import { answerOf } from "./record.ts"
import { callUpstream, upstreamError, withoutCredential } from "./upstream.ts"

const CONTENT_TYPE = "application/json"
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** How whole answers are asked for. */
export const unary: Sending<Answered> = { send: ask, drop: () => {} }

/** The answer of an attempt, once what it costs is booked. */
export async function answerUnary({ attempt, answer }: Won<Answered>): Promise<ClientAnswer> {
  const { call, target, bill } = attempt
  const { usage, images, model, hostedCalls } = answer
  let { body } = answer
  call.record.usage = usage
  await bill?.settle(target, {
    told: { usage, isAll: true, images, model, hostedCalls },
    said: () => ({ text: answer.said(), share: 1 }),
    waiting: "answer",
    onSpent(spent) {
      if (spent.basis !== "reported") body = answer.withUsage?.(spent.usage) ?? body
    },
    last: { contentType: CONTENT_TYPE, bytes: () => (typeof body === "string" ? Buffer.from(body) : body) },
  })
  noteHome(attempt, call.record.usage)
  const given = answerOf(call.record, body, CONTENT_TYPE)
  if (body !== answer.body) given.headers.set("x-gateway-usage", "estimated")
  return given
}

async function ask(attempt: Attempt): Promise<Answered> {
  const { call, house, lane } = attempt
  const running = house.running.begin(call, { url: lane.url(attempt), limitMs: timeLeft(attempt) })
  try {
    const response = await callUpstream(attempt, running)
    if (!response.ok) throw await upstreamError(response, attempt, running)
    const bytes = await readAll(response, MAX_ANSWER_BYTES)
    const answer = withHostedCalls(readAnswer(bytes, attempt), bytes, attempt)
    const totalMs = performance.now() - call.record.attemptStartedAt
    noteAnswered(attempt, { usage: answer.usage, totalMs, marks: () => marksOf(bytes, attempt) })
    return answer
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown : failure(thrown, running.abort)
  } finally {
    house.running.end(running)
  }
}

/** An answer, and the tools that its provider says it ran for it. */
function withHostedCalls(answer: Answered, bytes: Uint8Array, attempt: Attempt): Answered {
  const tally = tallyHostedCalls(attempt)
  if (!tally) return answer
  tally.seeText(decodeUtf8(bytes))
  return { ...answer, hostedCalls: tally.calls }
}

function readAnswer(bytes: Uint8Array, attempt: Attempt): Answered {
  const answer = attempt.lane.answer(bytes, attempt)
  if (answer) return answer
  const text = toByteText(bytes)
  const outlined = outline(text)
  // Some hosts send an error with status 200.
  if (outlined && findMember(outlined, "error")) {
    const error = attempt.lane.decodeError({ status: 502, body: decodeByteText(text) }, attempt)
    throw withoutCredential(error, attempt.target)
  }
  const message = "The provider's answer is not one of this protocol."
  throw new GatewayError("upstream_unavailable", message, { owner: "upstream" })
}
