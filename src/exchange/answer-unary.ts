// Unary responses: reads the whole response, then sends it as the lane encodes it.

import { GatewayError } from "../canonical/gateway-error.ts"
import { toSendError } from "../transport/http-client.ts"
import { decodeByteText, decodeUtf8, toByteText } from "../transport/json/byte-text.ts"
import { findMember, outlineJson } from "../transport/json/json-scan.ts"
import { readAll } from "../transport/read-all.ts"
import { findAnswerDefects } from "./attempt/answer-defects.ts"
import { type AnsweredAttempt, type AttemptDriver, timeLeft } from "./attempt/attempt-targets.ts"
import { callUpstream, upstreamError, withoutCredential } from "./attempt/call-upstream.ts"
import { tallyHostedCalls } from "./attempt/hosted-call-tally.ts"
import { recordAnswered, recordSessionHome } from "./attempt/record-outcome.ts"
import { buildResponse } from "./build-response.ts"
import type { ClientResponse } from "./client-response.ts"
import type { Attempt, UnaryAnswer } from "./lanes/lane.ts"

const CONTENT_TYPE = "application/json"
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** Sends attempts whose responses are read whole. */
export const unaryDriver: AttemptDriver<UnaryAnswer> = { send: requestUnary, drop: () => {} }

/** The response of an attempt, after its cost is booked. */
export async function answerUnary({ attempt, answer }: AnsweredAttempt<UnaryAnswer>): Promise<ClientResponse> {
  const { call, target, chargeSession, facts } = attempt
  const { usage, images, model, hostedCalls } = answer
  let { body } = answer
  facts.usage = usage
  await chargeSession?.settle(target, {
    reported: { usage, isAll: true, images, model, hostedCalls },
    transcript: () => ({ text: answer.transcript(), share: 1 }),
    waiter: "answer",
    onMeasured(spent) {
      if (spent.basis !== "reported") body = answer.withUsage?.(spent.usage) ?? body
    },
    last: { contentType: CONTENT_TYPE, bytes: () => (typeof body === "string" ? Buffer.from(body) : body) },
  })
  recordSessionHome(attempt, call.progress.usage)
  const given = buildResponse(call.progress, { body, contentType: CONTENT_TYPE })
  if (body !== answer.body) given.headers.set("x-gateway-usage", "estimated")
  return given
}

async function requestUnary(attempt: Attempt): Promise<UnaryAnswer> {
  const { client, deps, lane, facts } = attempt
  const running = deps.upstreamCalls.begin(client, { url: lane.url(attempt), limitMs: timeLeft(attempt) })
  try {
    const response = await callUpstream(attempt, running)
    if (!response.ok) throw await upstreamError(response, attempt, running)
    const bytes = await readAll(response, MAX_ANSWER_BYTES)
    const answer = withHostedCalls(readAnswer(bytes, attempt), bytes, attempt)
    facts.endedAt = performance.now()
    const totalMs = facts.endedAt - facts.startedAt
    recordAnswered(attempt, { usage: answer.usage, totalMs, defects: () => findAnswerDefects(bytes, attempt) })
    return answer
  } catch (thrown) {
    throw thrown instanceof GatewayError ? thrown : toSendError(thrown, running.abort)
  } finally {
    deps.upstreamCalls.end(running)
  }
}

/** A response, and the tools that its provider reports it ran. */
function withHostedCalls(answer: UnaryAnswer, bytes: Uint8Array, attempt: Attempt): UnaryAnswer {
  const tally = tallyHostedCalls(attempt)
  if (!tally) return answer
  tally.seeText(decodeUtf8(bytes))
  return { ...answer, hostedCalls: tally.calls }
}

function readAnswer(bytes: Uint8Array, attempt: Attempt): UnaryAnswer {
  const answer = attempt.lane.answer(bytes, attempt)
  if (answer) return answer
  const text = toByteText(bytes)
  const outlined = outlineJson(text)
  // Some hosts send an error with status 200.
  if (outlined && findMember(outlined, "error")) {
    const error = attempt.lane.decodeError({ status: 502, body: decodeByteText(text) }, attempt)
    throw withoutCredential(error, attempt.target)
  }
  const message = "The provider's response is not valid in this protocol."
  throw new GatewayError("upstream_unavailable", message, { owner: "upstream" })
}
