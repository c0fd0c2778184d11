// The simulator speaking Google's generateContent: whole, as events, as an array; and counting tokens.
import type { Json, JsonObject } from "../canonical/json.ts"
import type { SimulatedCall, SimulatedEndpoint, SimulatedEvent, SimulatedReply } from "./call.ts"
import { type Candidate, callTokens, chargeOf, outputTokens, type SimulatedUsage, simulate } from "./core.ts"
import { digest, seal } from "./digest.ts"
import { ARRAY, EVENTS, interleaved } from "./framing.ts"
import { geminiArrayVoice, geminiVoice } from "./gemini-error.ts"
import { readContents, readGenerateRequest, readThinking } from "./gemini-generate-request.ts"
import { modelOf } from "./gemini-path.ts"
import { either, object } from "./json-members.ts"
import { pieceTokens } from "./prompt-cache.ts"

export const geminiGenerate: SimulatedEndpoint = { voice: () => geminiVoice, answer: unary }
export const geminiStreamGenerate: SimulatedEndpoint = {
  voice: (query) => (isEvents(query) ? geminiVoice : geminiArrayVoice),
  answer: streamed,
}
export const geminiCountTokens: SimulatedEndpoint = { voice: () => geminiVoice, answer: count }

function count({ body }: SimulatedCall): SimulatedReply {
  const { prompt } = readContents({ ...body, ...object(either(body, "generateContentRequest")) })
  const totalTokens = prompt.reduce((total, piece) => total + pieceTokens(piece), 0)
  return { whole: { totalTokens, promptTokensDetails: textTokens(totalTokens) } }
}

function unary(call: SimulatedCall): SimulatedReply {
  const { simulated, tail, saying, charge } = prepare(call)
  const candidates = simulated.candidates.map((candidate, index) => {
    const parts = [...pieces(candidate, saying(index), Number.POSITIVE_INFINITY)].map(({ part }) => part)
    return { ...content(parts), finishReason: finishReason(candidate), index }
  })
  return { whole: { candidates, usageMetadata: usageOf(simulated.usage), ...tail }, charge }
}

function streamed(call: SimulatedCall): SimulatedReply {
  const prepared = prepare(call)
  const framing = isEvents(call.query) ? EVENTS : ARRAY
  return { events: chunksOf(prepared), framing, charge: prepared.charge }
}

function isEvents(query: URLSearchParams): boolean {
  return query.get("alt") === "sse"
}

interface Saying {
  readonly seed: string
  readonly isShown: boolean
}

function prepare({ id, body, path, cache }: SimulatedCall) {
  const model = modelOf(path)
  const simulated = simulate(readGenerateRequest(body, model), { id, cache, caching: "implicit" })
  const { isShown } = readThinking(body)
  const responseId = digest(simulated.seed, 23)
  return {
    simulated,
    charge: chargeOf(simulated.usage, { id: responseId, model }),
    tail: { modelVersion: model, responseId },
    saying: (index: number): Saying => ({ seed: `${simulated.seed} ${index}`, isShown }),
  }
}

/** A part, and how many tokens it took. */
interface Piece {
  readonly part: JsonObject
  readonly output: number
  readonly reasoning: number
}

const TOKENS_PER_CHUNK = 8

/** What is signed is the first call, or the last of the text. */
function* pieces(candidate: Candidate, { seed, isShown }: Saying, perPiece: number): Generator<Piece> {
  const { reasoning, text, calls } = candidate
  const signed = reasoning.length > 0 ? { thoughtSignature: seal(`${seed} thought`) } : {}
  if (isShown) {
    for (const some of groups(reasoning, perPiece)) {
      yield { part: { text: some.join(""), thought: true }, output: 0, reasoning: some.length }
    }
  }
  let unshown = isShown ? 0 : reasoning.length
  for (const [at, call] of calls.entries()) {
    const functionCall = { name: call.name, args: call.input, id: digest(`${seed} ${at}`, 8) }
    yield { part: { functionCall, ...(at === 0 && signed) }, output: callTokens(call), reasoning: unshown }
    unshown = 0
  }
  const said = groups(text, perPiece)
  for (const [at, some] of said.entries()) {
    const isLast = at === said.length - 1
    yield { part: { text: some.join(""), ...(isLast && signed) }, output: some.length, reasoning: unshown }
    unshown = 0
  }
}

function groups(tokens: readonly string[], size: number): (readonly string[])[] {
  if (tokens.length === 0) return []
  if (tokens.length <= size) return [tokens]
  return Array.from({ length: Math.ceil(tokens.length / size) }, (_, at) => tokens.slice(at * size, (at + 1) * size))
}

/** Every chunk tells the usage so far. */
function* chunksOf({ simulated, tail, saying }: ReturnType<typeof prepare>): Generator<SimulatedEvent> {
  let usage = { ...simulated.usage, output: 0, reasoning: 0 }
  let unfinished = simulated.candidates.length
  const rows = simulated.candidates.map((candidate, index) =>
    candidateChunks(candidate, { index, saying: saying(index) }),
  )
  for (const { candidate, output, reasoning } of interleaved(rows)) {
    usage = { ...usage, output: usage.output + output, reasoning: usage.reasoning + reasoning }
    const event = { candidates: [candidate], usageMetadata: usageOf(usage), ...tail }
    if ("finishReason" in candidate) unfinished--
    yield { event, tokens: output + reasoning, ...(unfinished === 0 && { isFinal: true }) }
  }
}

function* candidateChunks(candidate: Candidate, { index, saying }: { index: number; saying: Saying }) {
  let left = { output: outputTokens(candidate), reasoning: candidate.reasoning.length }
  for (const { part, output, reasoning } of pieces(candidate, saying, TOKENS_PER_CHUNK)) {
    left = { output: left.output - output, reasoning: left.reasoning - reasoning }
    yield { candidate: { ...content([part]), index }, output, reasoning }
  }
  yield { candidate: { ...content([{ text: "" }]), finishReason: finishReason(candidate), index }, ...left }
}

/** Google leaves `parts` out where there are none. */
function content(parts: readonly Json[]): { content: JsonObject } {
  return { content: { ...(parts.length > 0 && { parts }), role: "model" } }
}

function finishReason({ finish }: Candidate): string {
  return finish === "length" ? "MAX_TOKENS" : "STOP"
}

/** Here the prompt includes what was cached, and the candidates exclude the thoughts. */
function usageOf({ fresh, read, output, reasoning }: SimulatedUsage): JsonObject {
  return {
    promptTokenCount: fresh + read,
    candidatesTokenCount: output,
    totalTokenCount: fresh + read + output + reasoning,
    ...(read > 0 && { cachedContentTokenCount: read }),
    promptTokensDetails: textTokens(fresh + read),
    ...(read > 0 && { cacheTokensDetails: textTokens(read) }),
    ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
  }
}

function textTokens(tokenCount: number): Json {
  return [{ modality: "TEXT", tokenCount }]
}
