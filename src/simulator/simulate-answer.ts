// Decides the simulated answer, independent of the protocol: equal requests get equal answers.
import { isObject, type JsonObject } from "../canonical/json.ts"
import { answerText, reasoningText } from "./answer-text.ts"
import { toolsToCall } from "./choose-tools.ts"
import { digest } from "./digest.ts"
import type { PromptCache, PromptUsage } from "./prompt-cache.ts"
import { findPromptedFormat } from "./prompted-format.ts"
import { instanceOf } from "./schema/schema-instance.ts"
import type { ExpectedCharge } from "./simulated-call.ts"
import type { AnswerFormat, SimulatedRequest, SimulatedTool } from "./simulated-request.ts"
import { tokenize } from "./tokens.ts"

export interface SimulatedAnswer {
  /** The seed of identifiers. */
  readonly seed: string
  readonly candidates: readonly SimulatedCandidate[]
  readonly usage: SimulatedUsage
}

export interface SimulatedCandidate {
  /** Reasoning, cut into tokens like all text. */
  readonly reasoning: readonly string[]
  readonly text: readonly string[]
  readonly calls: readonly SimulatedToolCall[]
  readonly finish: "stop" | "length" | "stop-sequence" | "tool-calls"
  readonly stopSequence?: string
}

export interface SimulatedToolCall {
  readonly name: string
  readonly input: JsonObject
  /** The input as JSON text, cut into tokens. */
  readonly tokens: readonly string[]
}

/** Buckets that do not overlap; each protocol sums them differently. */
export interface SimulatedUsage extends PromptUsage {
  readonly output: number
  readonly reasoning: number
}

/** `id` distinguishes this call from equal ones; `caching` selects the vendor's kind of prompt cache. */
export function simulate(
  request: SimulatedRequest,
  { id, cache, caching }: { id: string; cache: PromptCache; caching: "marked" | "implicit" },
): SimulatedAnswer {
  const candidates = Array.from({ length: request.count }, (_, index) => simulateCandidate(request, index))
  return {
    seed: digest(`${id} ${JSON.stringify(request)}`),
    candidates,
    usage: {
      ...cache[caching](request.model, request.prompt),
      output: sum(candidates.map(outputTokens)),
      reasoning: sum(candidates.map(({ reasoning }) => reasoning.length)),
    },
  }
}

function simulateCandidate(request: SimulatedRequest, index: number): SimulatedCandidate {
  const limit = request.maxOutputTokens ?? Number.POSITIVE_INFINITY
  const thoughts = request.reasoning ? tokenize(reasoningText(request)) : []
  const reasoning = thoughts.slice(0, limit)
  // Reasoning that reaches the limit leaves no tokens for an answer.
  if (thoughts.length > 0 && thoughts.length >= limit) return { reasoning, text: [], calls: [], finish: "length" }
  const maxTokens = limit - reasoning.length
  const calls = toolsToCall(request).map(simulateCall)
  if (calls.length > 0) return { reasoning, text: [], ...callsWithin(calls, maxTokens) }
  return { reasoning, calls: [], ...textWithin(wholeText(request, index), { maxTokens, stop: request.stop }) }
}

function wholeText(request: SimulatedRequest, index: number): string {
  const { format = promptedFormat(request) } = request
  if (!format) return answerText(request, index)
  if (format.schema === undefined) return JSON.stringify({ message: answerText(request, index) })
  const value = instanceOf(format.schema, "answer")
  return format.bare && typeof value === "string" ? value : JSON.stringify(value)
}

/** Agents have tools, and mention JSON in their instructions without requesting a JSON answer. */
function promptedFormat({ tools, lastWords, prompt }: SimulatedRequest): AnswerFormat | undefined {
  const texts = prompt.filter(({ isImage }) => !isImage).map(({ text }) => text)
  return findPromptedFormat(tools.length > 0 ? [lastWords] : [lastWords, ...texts])
}

function textWithin(whole: string, { maxTokens, stop }: { maxTokens: number; stop: readonly string[] }) {
  const all = tokenize(whole)
  const text = all.slice(0, maxTokens)
  const joined = text.join("")
  const first = firstOf(stop, joined)
  if (first) {
    return { text: tokenize(joined.slice(0, first.at)), finish: "stop-sequence", stopSequence: first.sequence } as const
  }
  return { text, finish: text.length < all.length ? "length" : "stop" } as const
}

function firstOf(stop: readonly string[], text: string): { at: number; sequence: string } | undefined {
  return stop
    .filter((sequence) => sequence !== "")
    .map((sequence) => ({ at: text.indexOf(sequence), sequence }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)[0]
}

function simulateCall({ name, schema }: SimulatedTool): SimulatedToolCall {
  const value = schema === undefined ? {} : instanceOf(schema, name)
  const input = isObject(value) ? value : {}
  return { name, input, tokens: tokenize(JSON.stringify(input)) }
}

/** A call that does not fit is left out, because partial input is useless. */
function callsWithin(
  calls: readonly SimulatedToolCall[],
  maxTokens: number,
): Pick<SimulatedCandidate, "calls" | "finish"> {
  let left = maxTokens
  const fitting: SimulatedToolCall[] = []
  for (const one of calls) {
    left -= callTokens(one)
    if (left < 0) return { calls: fitting, finish: "length" }
    fitting.push(one)
  }
  return { calls: fitting, finish: "tool-calls" }
}

export function callTokens(call: SimulatedToolCall): number {
  return nameTokens(call) + call.tokens.length
}

export function nameTokens({ name }: Pick<SimulatedToolCall, "name">): number {
  return tokenize(name).length
}

export function chargeOf(usage: SimulatedUsage, { id, model }: { id: string; model: string }): ExpectedCharge {
  const { fresh, read, written, writtenLong, output, reasoning } = usage
  return { id, model, inputTokens: fresh + read + written + writtenLong, outputTokens: output + reasoning }
}

export function outputTokens({ text, calls }: SimulatedCandidate): number {
  return text.length + sum(calls.map(callTokens))
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
