// Chooses an attempt's lane: relay if client and upstream use the same protocol, otherwise translate.

import { mayHoldSeal } from "../../canonical/chat/sealed-content.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"
import { KINDS } from "../../protocols/contract.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import type { Lane } from "./lane.ts"
import { relayLane } from "./relay-lane.ts"
import { embeddingDispatch, fitsOneCall } from "./translate-embeddings.ts"
import { imageDispatch, takesImageRequest } from "./translate-images.ts"
import { translateLane, UntranslatableError } from "./translate-lane.ts"

/** A target and its lane. */
export interface LaneDispatch {
  readonly target: Target
  readonly lane: Lane
}

/** Throws, or rejects with, an UntranslatableError if the request cannot be translated for the target. */
export function chooseLane(target: Target, context: ExchangeContext): LaneDispatch | Promise<LaneDispatch> {
  refuseAudio(target, context)
  return canRelay(target, context) ? { target, lane: relayLane } : translatedDispatch(target, context)
}

/** A model without audio output would respond in text, or not at all. */
function refuseAudio({ model }: Target, { request }: ExchangeContext): void {
  const { audioMember: param } = request.reading
  if (param === undefined || model.guessedModalities || model.modalities.output.includes("audio")) return
  const message = `\`${param}\` asks for audio, which \`${model.id}\` does not produce. Leave it out, or use another model.`
  throw new UntranslatableError(new GatewayError("unsupported_parameter", message, { param }))
}

/** Whether the client's bytes can be passed to this target. */
function canRelay(target: Target, context: ExchangeContext): boolean {
  const { call, deps, request } = context
  const { id } = call.protocol
  const { isRewritten, remoteServers } = request.reading
  if (isRewritten || (remoteServers && target.endpoint.lacksRemoteServers)) return false
  if (target.protocol !== id || !fitsOneCall(target.endpoint, request) || !takesImageRequest(target, context))
    return false
  // A seal in the gateway's envelope was made by another upstream and goes to no other.
  const codec = call.envelope.does === "generate" ? deps.codecs.ingress.get(id) : undefined
  const maySeal = codec !== undefined && codec.dropsSeals !== true
  return !maySeal || !mayHoldSeal(request.text)
}

/**
 * Translates to the target's preferred protocol, or else to another one that it supports; rejects with an
 * UntranslatableError if none can express the request.
 */
async function translatedDispatch(target: Target, context: ExchangeContext): Promise<LaneDispatch> {
  const kind = KINDS[context.call.protocol.id]
  if (kind === "embedding") return embeddingDispatch(target, context)
  if (kind === "image") return imageDispatch(target, context)
  if (target.model.kind === "image") throw new UntranslatableError(imageModelError(target))
  try {
    return { target, lane: await translateLane(target, context) }
  } catch (thrown) {
    if (!(thrown instanceof UntranslatableError)) throw thrown
    for (const other of otherEndpoints(target, context)) {
      const lane = await tryTranslateLane(other, context)
      if (lane) return { target: other, lane }
    }
    throw thrown
  }
}

/** In a chat request, only a target with the caller's protocol generates images. */
function imageModelError({ model }: Target): GatewayError {
  const message = `\`${model.id}\` is an image model, and its provider does not generate images over this protocol: call it at /v1/images/generations.`
  return new GatewayError("invalid_parameter", message, { param: "model" })
}

async function tryTranslateLane(target: Target, context: ExchangeContext): Promise<Lane | undefined> {
  try {
    return await translateLane(target, context)
  } catch (thrown) {
    if (thrown instanceof UntranslatableError) return undefined
    throw thrown
  }
}

function otherEndpoints(target: Target, { deps }: ExchangeContext): Target[] {
  return Object.entries(target.account.endpoints).flatMap(([protocol, endpoint]) => {
    const serves = protocol !== target.protocol && endpoint.serves?.(target.upstreamModel) !== false
    return serves && deps.codecs.upstream.has(protocol) ? [{ ...target, protocol, endpoint }] : []
  })
}
