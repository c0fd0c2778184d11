// Translates a request from one protocol to another. Pure, with plain data as task and result, so that large requests
// can be translated in another thread.

import type { ChatRequest } from "../../canonical/chat/chat-request.ts"
import type { ContentPart, MediaPart } from "../../canonical/chat/content-part.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { Json, JsonObject } from "../../canonical/json.ts"
import type { Loss } from "../../canonical/loss.ts"
import type {
  CodecRegistry,
  RequestParameters,
  SettingPathTable,
  UpstreamCodec,
  UpstreamRequestContext,
} from "../../protocols/chat-codec.ts"
import type { RequestEnvelope } from "../../protocols/contract.ts"
import { hashQuestion } from "../conversations/answer-text.ts"
import { restoreCarriedThoughts } from "../conversations/carried-thoughts.ts"
import { restoreCallSeals, restoreTrailingSeals } from "../conversations/restore-seals.ts"
import type { SealLookup } from "../conversations/seal-cache.ts"
import { findBodyPath } from "./body-path.ts"
import { fitNames } from "./fit-names.ts"
import { rewriteRemoteCalls } from "./rewrite-remote-calls.ts"

export interface TranslateTask {
  readonly from: string
  readonly envelope: RequestEnvelope
  readonly to: string
  readonly context: Omit<UpstreamRequestContext, "losses">
  /** What the caller's identifiers are sent as; absent where they are sent as they are, or there are none. */
  readonly identifiers?: ReadonlyMap<string, string>
  /** The seals that are kept for the tenant. */
  readonly kept: SealLookup
  /** What ids of calls must look like where the target takes fewer than its protocol. */
  readonly callId?: RegExp
  /** Content of URLs that the upstream does not fetch; absent if fetching is disabled. */
  readonly media?: ReadonlyMap<string, InlineMedia>
}

export interface InlineMedia {
  readonly mediaType: string
  readonly base64: string
}

export interface TranslatedRequest {
  /** JSON, in ordinary text. */
  readonly body: string
  readonly losses: readonly Loss[]
  readonly parameters: RequestParameters
  /** The caller's names of tools, by what they were sent as. */
  readonly names: ReadonlyMap<string, string>
  /** The tools, as they were sent, whose input is plain text. */
  readonly customs: ReadonlySet<string>
  /** The hash of the last message before the response. */
  readonly question: string
}

/** Addresses whose content must be known first. */
export interface WantedMedia {
  readonly wanted: readonly string[]
}

/** `body` was found sound. */
export function translateRequest(
  body: JsonObject,
  task: TranslateTask,
  codecs: CodecRegistry,
): TranslatedRequest | WantedMedia {
  const ingress = codecs.ingress.get(task.from)
  const upstream = codecs.upstream.get(task.to)
  if (!ingress || !upstream) throw new Error(`no translation from ${task.from} to ${task.to}`)
  const decoded = ingress.decodeRequest(body, task.envelope)
  const { settingPaths } = ingress
  const wanted = task.media ? addressesIn(decoded, { upstream, known: task.media }) : []
  if (wanted.length > 0) return { wanted }
  const whole = task.media && task.media.size > 0 ? withMedia(decoded, task.media) : decoded
  const salted = task.identifiers ? withIdentifiers(whole, task.identifiers) : whole
  const { callId = upstream.callId, kept, context } = task
  const sealed = restoreTrailingSeals(
    restoreCallSeals(restoreCarriedThoughts(salted), kept.calls, context.minter),
    kept.texts,
    context.minter,
  )
  const losses: Loss[] = []
  const rewritten = rewriteRemoteCalls(sealed, { ...remoteTarget(sealed, { task, upstream }), losses })
  const { request, names } = fitNames(rewritten, { toolName: upstream.toolName, callId })
  const shows = ingress.showsThoughts && { showsThoughts: true }
  const place = (path: string) => findBodyPath(body, settingPathIn(path, { places: settingPaths, body }))
  const encoded = withSettingPaths(place, () => upstream.encodeRequest(request, { ...context, ...shows, losses }))
  const { turns: _turns, instructions: _instructions, ...parameters } = decoded
  const customs = new Set(request.tools.filter(({ kind }) => kind === "custom").map(({ name }) => name))
  const lost = losses.map((loss) => ({ ...loss, path: place(loss.path) }))
  const question = hashQuestion(decoded.turns)
  return { body: JSON.stringify(encoded), losses: lost, parameters, names, customs, question }
}

/** The remote servers a target supports: all in its own protocol, otherwise those it may call. */
function remoteTarget(
  { tools, extra }: ChatRequest,
  { task, upstream }: { task: TranslateTask; upstream: UpstreamCodec },
): { knows(server: string): boolean; inWords: boolean } {
  const calls = upstream.callsRemoteServers === true && task.context.lacksRemoteServers !== true
  const servers = new Set(tools.flatMap((tool) => (tool.kind === "hosted" && tool.server ? [tool.server.label] : [])))
  const isOwn = extra?.protocol === task.to
  const inWords = upstream.callsNeedTools === true && tools.every(({ kind }) => kind === "hosted")
  return { knows: (server) => calls && (isOwn || servers.has(server)), inWords }
}

/** In settings, and in what rides along to a host of the same protocol. */
function withIdentifiers(request: ChatRequest, salted: ReadonlyMap<string, string>): ChatRequest {
  const { settings, extra } = request
  const { endUser, cacheKey } = settings
  const saltedSettings = {
    ...settings,
    ...(endUser !== undefined && { endUser: salted.get(endUser) ?? endUser }),
    ...(cacheKey !== undefined && { cacheKey: salted.get(cacheKey) ?? cacheKey }),
  }
  if (!extra) return { ...request, settings: saltedSettings }
  const members = Object.entries(extra.members).map(([name, value]) => [name, saltedMember(name, value, salted)])
  return { ...request, settings: saltedSettings, extra: { ...extra, members: Object.fromEntries(members) } }
}

const IDENTIFIERS = ["user", "safety_identifier", "prompt_cache_key"]

function saltedMember(name: string, value: Json, salted: ReadonlyMap<string, string>): Json {
  return IDENTIFIERS.includes(name) && typeof value === "string" ? (salted.get(value) ?? value) : value
}

/** Maps a canonical setting to the caller's path. */
function settingPathIn(path: string, { places, body }: { places: SettingPathTable; body: JsonObject }): string {
  const [name = "", held = ""] = path.split(".", 2)
  for (const known of [`${name}.${held}`, name]) {
    const place = (Object.hasOwn(places, known) && places[known as keyof SettingPathTable]) || ""
    const spellings = typeof place === "string" ? [place] : place
    const [first = ""] = spellings
    const written = spellings.find((each) => (each.split(".", 1)[0] ?? "") in body) ?? first
    if (written !== "") return written + path.slice(known.length)
  }
  return path
}

function withSettingPaths<Result>(placeOf: (path: string) => string, say: () => Result): Result {
  try {
    return say()
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.param === undefined) throw thrown
    const { code, message, owner, param } = thrown
    const place = placeOf(param)
    throw new GatewayError(code, message.replaceAll(`\`${param}\``, `\`${place}\``), { owner, param: place })
  }
}

interface MediaSearch {
  readonly upstream: UpstreamCodec
  readonly known: ReadonlyMap<string, InlineMedia>
}

function addressesIn({ instructions, turns }: ChatRequest, { upstream, known }: MediaSearch): string[] {
  const found = new Set<string>()
  const look = (part: ContentPart): void => {
    if (part.kind === "tool-result") part.parts.forEach(look)
    if (part.kind !== "media" || part.source.at !== "url" || !upstream.inlines(part.media)) return
    if (!known.has(part.source.url)) found.add(part.source.url)
  }
  instructions.forEach(look)
  for (const { parts } of turns) parts.forEach(look)
  return [...found]
}

function withMedia(request: ChatRequest, media: ReadonlyMap<string, InlineMedia>): ChatRequest {
  const inlined = (part: ContentPart): ContentPart => {
    if (part.kind === "tool-result") return { ...part, parts: part.parts.map(inlined) }
    const found = part.kind === "media" && part.source.at === "url" ? media.get(part.source.url) : undefined
    return found ? ({ ...part, source: { at: "inline", ...found } } as MediaPart) : part
  }
  return {
    ...request,
    instructions: request.instructions.map(inlined),
    turns: request.turns.map((turn) => ({ ...turn, parts: turn.parts.map(inlined) })),
  }
}

/** Rejects a strict request whose meaning would change. */
export function refuseLosses(losses: readonly Loss[]): void {
  const meant = losses.filter(({ weight }) => weight === "meaning")
  const [first] = meant
  if (!first) return
  const named = meant.slice(0, MAX_NAMED).map(({ path, why }) => `\`${path}\` (${why})`)
  const more = meant.length > MAX_NAMED ? `, and ${meant.length - MAX_NAMED} more` : ""
  const message = `The request is strict, and this model's provider does not support all of it: ${named.join(", ")}${more}.`
  throw new GatewayError("lossy_translation", message, { param: first.path })
}

const MAX_NAMED = 5
