// The simulator speaking Google's generateContent: whole, as events, as an array; and counting tokens.
import type { Json, JsonObject } from "../canonical/json.ts"
import type { SimulatedCall, SimulatedEndpoint } from "./call.ts"
import { type Candidate, callTokens, outputTokens, type SimulatedUsage, simulate } from "./core.ts"
import { digest, seal } from "./digest.ts"
import { refuseGemini } from "./gemini-error.ts"
import { readContents, readGenerateRequest, readThinking } from "./gemini-generate-request.ts"
import { either, object } from "./json-members.ts"
import { pieceTokens } from "./prompt-cache.ts"
import { arrayStream, eventStream, interleaved } from "./pulled-stream.ts"

export const geminiGenerate: SimulatedEndpoint = { answer: unary, refuse: refuseGemini }
export const geminiStreamGenerate: SimulatedEndpoint = { answer: streamed, refuse: refuseGemini }
export const geminiCountTokens: SimulatedEndpoint = { answer: count, refuse: refuseGemini }

function count({ body }: SimulatedCall): Response {
  const { prompt } = readContents({ ...body, ...object(either(body, "generateContentRequest")) })
  const totalTokens = prompt.reduce((total, piece) => total + pieceTokens(piece), 0)
  return Response.json({ totalTokens, promptTokensDetails: textTokens(totalTokens) })
}

function unary(call: SimulatedCall): Response {
  const { simulated, tail, saying } = prepare(call)
  const candidates = simulated.candidates.map((candidate, index) => {
    const parts = [...pieces(candidate, saying(index), Number.POSITIVE_INFINITY)].map(({ part }) => part)
    return { ...content(parts), finishReason: finishReason(candidate), index }
  })
  return Response.json({ candidates, usageMetadata: usageOf(simulated.usage), ...tail })
}

function streamed(call: SimulatedCall): Response {
  const chunks = chunksOf(prepare(call))
  return call.query.get("alt") === "sse" ? eventStream(chunks, call) : arrayStream(chunks, call)
}

interface Saying {
  readonly seed: string
  readonly isShown: boolean
}

function prepare({ body, path, cache }: SimulatedCall) {
  const model = modelOf(path)
  const simulated = simulate(readGenerateRequest(body, model), { cache, caching: "implicit" })
  const { isShown } = readThinking(body)
  return {
    simulated,
    tail: { modelVersion: model, responseId: digest(simulated.seed, 23) },
    saying: (index: number): Saying => ({ seed: `${simulated.seed} ${index}`, isShown }),
  }
}

/** Some client libraries leave `models/` out before a name that has a slash. */
function modelOf(path: string): string {
  const named = path.slice(0, path.lastIndexOf(":"))
  const name = (/\/models\/(.+)$/.exec(named) ?? /\/v1(?:beta\d*)?\/(.+)$/.exec(named))?.[1] ?? named.slice(1)
  try {
    return decodeURIComponent(name)
  } catch {
    return name
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
function* chunksOf({ simulated, tail, saying }: ReturnType<typeof prepare>): Generator<JsonObject> {
  let usage = { ...simulated.usage, output: 0, reasoning: 0 }
  const rows = simulated.candidates.map((candidate, index) =>
    candidateChunks(candidate, { index, saying: saying(index) }),
  )
  for (const { candidate, output, reasoning } of interleaved(rows)) {
    usage = { ...usage, output: usage.output + output, reasoning: usage.reasoning + reasoning }
    yield { candidates: [candidate], usageMetadata: usageOf(usage), ...tail }
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
