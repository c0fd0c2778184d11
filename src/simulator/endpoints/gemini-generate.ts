// The simulator speaking Google's generateContent: whole, as events, as an array; also counts tokens.
import type { Json, JsonObject } from "../../canonical/json.ts"
import { digest, opaqueText } from "../digest.ts"
import { drawImage } from "../generated-image.ts"
import { ARRAY, EVENTS, interleave } from "../playback/event-framing.ts"
import { pieceTokens } from "../prompt-cache.ts"
import {
  callTokens,
  chargeOf,
  outputTokens,
  type SimulatedAnswer,
  type SimulatedCandidate,
  type SimulatedUsage,
  simulate,
} from "../simulate-answer.ts"
import type { SimulatedCall, SimulatedEndpoint, SimulatedEvent, SimulatedReply } from "../simulated-call.ts"
import { geminiArrayErrorFormat, geminiErrorFormat } from "./gemini-error.ts"
import { readContents, readGenerateRequest, readThinking } from "./gemini-generate-request.ts"
import { modelOf } from "./gemini-path.ts"
import { either, object, texts } from "./json-members.ts"

export const geminiGenerate: SimulatedEndpoint = { errorFormat: () => geminiErrorFormat, answer: answerWhole }
export const geminiStreamGenerate: SimulatedEndpoint = {
  errorFormat: (query) => (isEvents(query) ? geminiErrorFormat : geminiArrayErrorFormat),
  answer: answerStream,
}
export const geminiCountTokens: SimulatedEndpoint = { errorFormat: () => geminiErrorFormat, answer: count }

function count({ body }: SimulatedCall): SimulatedReply {
  const { prompt } = readContents({ ...body, ...object(either(body, "generateContentRequest")) })
  const totalTokens = prompt.reduce((total, piece) => total + pieceTokens(piece), 0)
  return { whole: { totalTokens, promptTokensDetails: textTokens(totalTokens) } }
}

function answerWhole(call: SimulatedCall): SimulatedReply {
  const { simulated, tail, sceneOf, charge } = prepare(call)
  const candidates = simulated.candidates.map((candidate, index) => {
    const parts = [...pieces(candidate, sceneOf(index), Number.POSITIVE_INFINITY)].map(({ part }) => part)
    return { ...content(parts), finishReason: finishReason(candidate), index }
  })
  return { whole: { candidates, usageMetadata: usageOf(simulated.usage), ...tail }, charge }
}

function answerStream(call: SimulatedCall): SimulatedReply {
  const prepared = prepare(call)
  const framing = isEvents(call.query) ? EVENTS : ARRAY
  return { events: chunksOf(prepared), framing, charge: prepared.charge }
}

function isEvents(query: URLSearchParams): boolean {
  return query.get("alt") === "sse"
}

interface CandidateScene {
  readonly seed: string
  readonly isShown: boolean
  /** The prompt of the image; undefined if the answer has none. */
  readonly imagePrompt: string | undefined
}

function prepare({ id, body, path, cache }: SimulatedCall) {
  const model = modelOf(path)
  const imagePrompt = findImagePrompt(body, model)
  const simulated = withPictures(
    simulate(readGenerateRequest(body, model), { id, cache, caching: "implicit" }),
    imagePrompt,
  )
  const { isShown } = readThinking(body)
  const responseId = digest(simulated.seed, 23)
  return {
    simulated,
    charge: chargeOf(simulated.usage, { id: responseId, model }),
    tail: { modelVersion: model, responseId },
    sceneOf: (index: number): CandidateScene => ({ seed: `${simulated.seed} ${index}`, isShown, imagePrompt }),
  }
}

/** Image models draw unless the request allows text only. */
function findImagePrompt(body: JsonObject, model: string): string | undefined {
  const config = object(either(body, "generationConfig"))
  const modalities = texts(either(config, "responseModalities")).map((word) => word.toUpperCase())
  const drawsImage = modalities.length > 0 ? modalities.includes("IMAGE") : /image/.test(model)
  return drawsImage ? `${model} ${JSON.stringify(body.contents ?? "")}` : undefined
}

function withPictures(simulated: SimulatedAnswer, imagePrompt: string | undefined): SimulatedAnswer {
  const { usage, candidates } = simulated
  const tokens = candidates.reduce((sum, candidate) => sum + pictureTokens(candidate, imagePrompt), 0)
  return { ...simulated, usage: { ...usage, output: usage.output + tokens } }
}

/** An answer that calls a tool has no image; the answer to the tool's result has it. */
function pictureTokens({ calls }: SimulatedCandidate, imagePrompt: string | undefined): number {
  return imagePrompt !== undefined && calls.length === 0 ? PICTURE_TOKENS : 0
}

const PICTURE_SIZE = { width: 1024, height: 1024 }
/** Tokens that Google counts for an image of this size. */
const PICTURE_TOKENS = 1290

function imagePart(prompt: string): SimulatedPart {
  const data = drawImage(prompt, PICTURE_SIZE).toString("base64")
  return { part: { inlineData: { mimeType: "image/png", data } }, output: PICTURE_TOKENS, reasoning: 0 }
}

/** A part and its token counts. */
interface SimulatedPart {
  readonly part: JsonObject
  readonly output: number
  readonly reasoning: number
}

const TOKENS_PER_CHUNK = 8

/** The first call is signed, or else the last piece of text. */
function* pieces(
  candidate: SimulatedCandidate,
  { seed, isShown, imagePrompt }: CandidateScene,
  perPiece: number,
): Generator<SimulatedPart> {
  const { reasoning, text, calls } = candidate
  const signed = reasoning.length > 0 ? { thoughtSignature: opaqueText(`${seed} thought`) } : {}
  if (isShown) {
    for (const some of groupTokens(reasoning, perPiece)) {
      yield { part: { text: some.join(""), thought: true }, output: 0, reasoning: some.length }
    }
  }
  let unshown = isShown ? 0 : reasoning.length
  for (const [at, call] of calls.entries()) {
    const functionCall = { name: call.name, args: call.input, id: digest(`${seed} ${at}`, 8) }
    yield { part: { functionCall, ...(at === 0 && signed) }, output: callTokens(call), reasoning: unshown }
    unshown = 0
  }
  const groups = groupTokens(text, perPiece)
  for (const [at, some] of groups.entries()) {
    const isLast = at === groups.length - 1
    yield { part: { text: some.join(""), ...(isLast && signed) }, output: some.length, reasoning: unshown }
    unshown = 0
  }
  if (imagePrompt !== undefined && pictureTokens(candidate, imagePrompt) > 0) yield imagePart(imagePrompt)
}

function groupTokens(tokens: readonly string[], size: number): (readonly string[])[] {
  if (tokens.length === 0) return []
  if (tokens.length <= size) return [tokens]
  return Array.from({ length: Math.ceil(tokens.length / size) }, (_, at) => tokens.slice(at * size, (at + 1) * size))
}

/** Every chunk reports the usage so far. */
function* chunksOf({ simulated, tail, sceneOf }: ReturnType<typeof prepare>): Generator<SimulatedEvent> {
  let usage = { ...simulated.usage, output: 0, reasoning: 0 }
  let unfinished = simulated.candidates.length
  const rows = simulated.candidates.map((candidate, index) =>
    candidateChunks(candidate, { index, scene: sceneOf(index) }),
  )
  for (const { candidate, output, reasoning } of interleave(rows)) {
    usage = { ...usage, output: usage.output + output, reasoning: usage.reasoning + reasoning }
    const event = { candidates: [candidate], usageMetadata: usageOf(usage), ...tail }
    if ("finishReason" in candidate) unfinished--
    yield { event, tokens: output + reasoning, ...(unfinished === 0 && { isFinal: true }) }
  }
}

function* candidateChunks(candidate: SimulatedCandidate, { index, scene }: { index: number; scene: CandidateScene }) {
  const output = outputTokens(candidate) + pictureTokens(candidate, scene.imagePrompt)
  let left = { output, reasoning: candidate.reasoning.length }
  for (const { part, ...tokens } of pieces(candidate, scene, TOKENS_PER_CHUNK)) {
    left = { output: left.output - tokens.output, reasoning: left.reasoning - tokens.reasoning }
    yield { candidate: { ...content([part]), index }, ...tokens }
  }
  yield { candidate: { ...content([{ text: "" }]), finishReason: finishReason(candidate), index }, ...left }
}

/** Google omits `parts` if there are none. */
function content(parts: readonly Json[]): { content: JsonObject } {
  return { content: { ...(parts.length > 0 && { parts }), role: "model" } }
}

function finishReason({ finish }: SimulatedCandidate): string {
  return finish === "length" ? "MAX_TOKENS" : "STOP"
}

/** Google's prompt count includes cached tokens, and its candidates count excludes thoughts. */
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
