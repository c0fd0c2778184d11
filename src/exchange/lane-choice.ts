// Which lane an attempt takes: bytes pass where client and upstream speak alike, all else is said again.
import { GatewayError } from "../canonical/error.ts"
import { mayHoldSeal } from "../canonical/sealed.ts"
import { KINDS } from "../protocols/contract.ts"
import type { Target } from "../routing/plan.ts"
import { embeddingWay, fitsOneCall } from "./embedding-lane.ts"
import { drawsAsAsked, imageWay } from "./image-lane.ts"
import type { Lane } from "./lane.ts"
import { relayLane } from "./relay-lane.ts"
import { type Occasion, translateLane, UnsayableError } from "./translate-lane.ts"

/** A target, and how it is spoken to. */
export interface Way {
  readonly target: Target
  readonly lane: Lane
}

/** Throws, or rejects with, an UnsayableError where the target cannot be told the request. */
export function wayTo(target: Target, occasion: Occasion): Way | Promise<Way> {
  refuseAudio(target, occasion)
  return passes(target, occasion) ? { target, lane: relayLane } : translatedWay(target, occasion)
}

/** A model that cannot speak would answer in text, or not at all. */
function refuseAudio({ model }: Target, { request }: Occasion): void {
  const { audioAsked: param } = request.reading
  if (param === undefined || model.guessedModalities || model.modalities.output.includes("audio")) return
  const message = `\`${param}\` asks for audio, which \`${model.id}\` does not produce. Leave it out, or use another model.`
  throw new UnsayableError(new GatewayError("unsupported_parameter", message, { param }))
}

/** Whether the client's bytes can be passed to this target. */
function passes(target: Target, occasion: Occasion): boolean {
  const { call, house, request } = occasion
  const { id } = call.protocol
  const { isRewritten, remoteServers } = request.reading
  if (isRewritten || (remoteServers && target.line.lacksRemoteServers)) return false
  if (target.protocol !== id || !fitsOneCall(target.line, request) || !drawsAsAsked(target, occasion)) return false
  // A seal in an envelope of ours is another upstream's, and may be sent to nobody else.
  const codec = call.envelope.does === "generate" ? house.codecs.ingress.get(id) : undefined
  const maySeal = codec !== undefined && codec.dropsSeals !== true
  return !maySeal || !mayHoldSeal(request.text)
}

/**
 * In the protocol the target speaks best, or else in another one that it speaks too; rejects with an UnsayableError
 * where it cannot be told the request in any.
 */
async function translatedWay(target: Target, occasion: Occasion): Promise<Way> {
  const kind = KINDS[occasion.call.protocol.id]
  if (kind === "embedding") return embeddingWay(target, occasion)
  if (kind === "image") return imageWay(target, occasion)
  if (target.model.kind === "image") throw new UnsayableError(drawnElsewhere(target))
  try {
    return { target, lane: await translateLane(target, occasion) }
  } catch (thrown) {
    if (!(thrown instanceof UnsayableError)) throw thrown
    for (const other of otherWays(target, occasion)) {
      const lane = await laneOrNone(other, occasion)
      if (lane) return { target: other, lane }
    }
    throw thrown
  }
}

/** In a conversation only who speaks the caller's protocol itself draws. */
function drawnElsewhere({ model }: Target): GatewayError {
  const message = `\`${model.id}\` is an image model, and its provider does not draw in this protocol: call it at /v1/images/generations.`
  return new GatewayError("invalid_parameter", message, { param: "model" })
}

async function laneOrNone(target: Target, occasion: Occasion): Promise<Lane | undefined> {
  try {
    return await translateLane(target, occasion)
  } catch (thrown) {
    if (thrown instanceof UnsayableError) return undefined
    throw thrown
  }
}

function otherWays(target: Target, { house }: Occasion): Target[] {
  return Object.entries(target.account.lines).flatMap(([protocol, line]) => {
    const serves = protocol !== target.protocol && line.serves?.(target.upstreamModel) !== false
    return serves && house.codecs.upstream.has(protocol) ? [{ ...target, protocol, line }] : []
  })
}
