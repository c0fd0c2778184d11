// The simulator speaking OpenAI's completions of prompts.
import type { JsonObject } from "../../canonical/json.ts"
import { digest } from "../digest.ts"
import { EVENTS_UNTIL_DONE, interleave } from "../playback/event-framing.ts"
import {
  chargeOf,
  type SimulatedAnswer,
  type SimulatedCandidate,
  type SimulatedUsage,
  simulate,
} from "../simulate-answer.ts"
import {
  type SimulatedCall,
  type SimulatedEndpoint,
  SimulatedRefusal,
  type SimulatedReply,
  wholeNumber,
} from "../simulated-call.ts"
import type { SimulatedRequest } from "../simulated-request.ts"
import { list, number, type OptionalJson, object, texts } from "./json-members.ts"
import { missingParameter, openaiErrorFormat, requireModel } from "./openai-error.ts"

export const openaiCompletions: SimulatedEndpoint = { errorFormat: () => openaiErrorFormat, answer }

/** OpenAI's default for `max_tokens`. */
const USUAL_TOKENS = 16

function answer({ id, body, cache }: SimulatedCall): SimulatedReply {
  const model = requireModel(body)
  const answers = readPrompts(body.prompt).map((prompt) =>
    simulate(requestOf(prompt, { ...body, model }), { id, cache, caching: "implicit" }),
  )
  const candidates = answers.flatMap((each) => each.candidates)
  const usage = sumUsages(answers)
  const seed = answers[0]?.seed ?? ""
  const head = { id: `cmpl-${digest(seed, 29)}`, created: Math.floor(Date.now() / 1000), model }
  const charge = chargeOf(usage, head)
  const common = { ...head, object: "text_completion" }
  if (body.stream !== true) {
    const choices = candidates.map((each, index) => choiceOf(each.text.join(""), index, finishOf(each)))
    return { whole: { ...common, choices, usage: usageOf(usage) }, charge }
  }
  const withUsage = object(body.stream_options).include_usage === true
  return { events: chunks(), framing: EVENTS_UNTIL_DONE, charge }

  function* chunks() {
    for (const { choice, tokens } of interleave(candidates.map(choiceChunks))) {
      yield { event: { ...common, choices: [choice], ...(withUsage && { usage: null }) }, tokens }
    }
    if (withUsage) yield { event: { ...common, choices: [], usage: usageOf(usage) }, tokens: 0, isFinal: true as const }
  }
}

function* choiceChunks(candidate: SimulatedCandidate, index: number) {
  for (const token of candidate.text) yield { choice: choiceOf(token, index, null), tokens: 1 }
  yield { choice: choiceOf("", index, finishOf(candidate)), tokens: 0 }
}

function choiceOf(text: string, index: number, finish_reason: string | null): JsonObject {
  return { text, index, logprobs: null, finish_reason }
}

function finishOf({ finish }: SimulatedCandidate): string {
  return finish === "length" ? "length" : "stop"
}

function requestOf(prompt: string, body: JsonObject & { readonly model: string }): SimulatedRequest {
  return {
    model: body.model,
    prompt: [{ text: prompt }],
    lastWords: prompt,
    ...{ toolResults: [], tools: [], toolChoice: { mode: "none" }, parallelToolCalls: false, reasoning: false },
    maxOutputTokens: number(body.max_tokens) ?? USUAL_TOKENS,
    stop: typeof body.stop === "string" ? [body.stop] : texts(body.stop),
    count: wholeNumber(body.n, { param: "n", from: 1, to: 128, otherwise: 1 }),
  }
}

/** A text, or a list of token numbers, or a list of either. */
function readPrompts(prompt: OptionalJson): string[] {
  if (prompt === undefined || prompt === null) throw missingParameter("prompt")
  if (typeof prompt === "string") return [prompt]
  const each = list(prompt)
  if (each.length > 0 && each.every((token) => typeof token === "number")) return [each.join(" ")]
  if (each.length === 0) throw new SimulatedRefusal("'prompt' must not be an empty array.", { param: "prompt" })
  return each.map((one) => (typeof one === "string" ? one : list(one).join(" ")))
}

function sumUsages(answers: readonly SimulatedAnswer[]): SimulatedUsage {
  return answers.reduce<SimulatedUsage>(
    (sum, { usage }) => ({
      fresh: sum.fresh + usage.fresh,
      read: sum.read + usage.read,
      written: sum.written + usage.written,
      writtenLong: sum.writtenLong + usage.writtenLong,
      output: sum.output + usage.output,
      reasoning: sum.reasoning + usage.reasoning,
    }),
    { fresh: 0, read: 0, written: 0, writtenLong: 0, output: 0, reasoning: 0 },
  )
}

function usageOf({ fresh, read, output }: SimulatedUsage): JsonObject {
  const prompt = fresh + read
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: read },
  }
}
