// The relay lane: client and upstream use the same protocol, so bytes pass through, except members the gateway owns.

import { EFFORTS, type ReasoningEffort } from "../../canonical/chat/reasoning-effort.ts"
import { grownPartKey } from "../../canonical/chat/stream-event.ts"
import { isObject } from "../../canonical/json.ts"
import type { Loss } from "../../canonical/loss.ts"
import type { CatalogModel } from "../../catalog/catalog.ts"
import type { UpstreamCodec } from "../../protocols/chat-codec.ts"
import type { RelayTarget, RequestSummary, StreamRelay } from "../../protocols/contract.ts"
import { EFFORT_MEMBERS } from "../../protocols/request-members.ts"
import type { ProviderOperation } from "../../providers/contract.ts"
import { decodeByteText, fromByteText, isAscii, toBody, toByteText } from "../../transport/json/byte-text.ts"
import { type JsonOutline, outlineJson } from "../../transport/json/json-scan.ts"
import { spliceJson } from "../../transport/json/json-splice.ts"
import { Tee } from "../../transport/streams/tee.ts"
import { repairUtf8, Utf8Repair } from "../../transport/streams/utf8-repair.ts"
import { textOfResponse } from "../charge/countable-text.ts"
import type { Attempt, Lane, LaneRequest, StreamPipe, StreamWatcher } from "./lane.ts"
import { saltFor } from "./salt-identifiers.ts"

export const relayLane: Lane = {
  url(attempt) {
    const { endpoint } = attempt.target
    return endpoint.baseUrl + (endpoint.path ? endpoint.path(operationOf(attempt)) : usualPath(attempt))
  },

  message(attempt) {
    const { call, request, target } = attempt
    const { endpoint, upstreamModel: model } = target
    const { streamUsage, limitMembers, takesMembers } = endpoint
    const salt = request.reading.identifiers && saltFor(attempt)
    const unknown = takesMembers && unknownMembers(takesMembers, request.outline)
    const efforts = unknown && effortsOf(target.model)
    const owned = { model, streamUsage, limitMembers, unknown, efforts, salt }
    const usual = call.protocol.requestEdits(request.reading, owned)
    const edits = endpoint.edits ? [...endpoint.edits(operationOf(attempt)), ...usual] : usual
    const body = toBody(spliceJson(request.text, edits, request.outline), request.isAscii)
    const losses = lossesOf(request.reading, owned)
    return { headers: endpoint.headersWith(request.reading.headers), body, losses }
  },

  answer(received, { call, deps, request, target }) {
    const ascii = isAscii(received)
    const bytes = ascii ? received : repairUtf8(received)
    const text = toByteText(bytes)
    const outlined = outlineJson(text)
    const answer = outlined && call.protocol.relayResponse(text, outlined, contextOf({ request, target }))
    if (!answer) return undefined
    return {
      body: toBody(answer.text, ascii),
      model: answer.model,
      usage: answer.usage,
      images: answer.images,
      transcript: () => answer.transcript?.() ?? transcriptOf(text, deps.codecs.upstream.get(call.protocol.id)),
      withUsage: answer.withUsage && ((counted) => toBody(answer.withUsage?.(counted) ?? answer.text, ascii)),
    }
  },

  openPipe({ call, request, target }, watch) {
    return relayPipe(call.protocol.relayStream(contextOf({ request, target })), watch)
  },

  decodeError: (error, { call }) => call.protocol.decodeError(error),
}

const NOT_STORED: Loss = {
  path: "store",
  weight: "hint",
  how: "dropped",
  why: "callers share the provider's account, so nothing is stored there",
}

function effortsOf({ reasoning, efforts }: CatalogModel): readonly ReasoningEffort[] | undefined {
  return reasoning ? (efforts ?? EFFORTS) : undefined
}

function lossesOf({ storesUpstream, effort }: RequestSummary, { unknown, efforts }: RelayTarget): Loss[] | undefined {
  if (!storesUpstream && !unknown) return undefined
  const left = (unknown ?? []).map((path): Loss => {
    const isSent = effort && efforts && EFFORT_MEMBERS.includes(path)
    const why = isSent ? "it is sent as `reasoning_effort`" : "the provider rejects requests that contain it"
    return { path, weight: "hint", how: isSent ? "approximated" : "dropped", why }
  })
  return storesUpstream ? [NOT_STORED, ...left] : left
}

/** The members that a host would refuse a request for; those the gateway takes out by itself are none. */
function unknownMembers(taken: ReadonlySet<string>, { members }: JsonOutline): string[] | undefined {
  let beyond: string[] | undefined
  for (const { name } of members) if (!taken.has(name) && !OWN.has(name)) beyond = [...(beyond ?? []), name]
  return beyond
}

const OWN: ReadonlySet<string> = new Set(["provider", "models", "fallbacks"])

/** The text of a response without usage; a response that cannot be decoded counts as it is. */
function transcriptOf(text: string, codec: UpstreamCodec | undefined): string {
  const body = codec && parseByteText(text)
  const response = codec && isObject(body) ? codec.decodeResponse(body, { id: "", minter: "" }) : undefined
  return response ? textOfResponse(response) : decodeByteText(text)
}

function parseByteText(text: string): unknown {
  try {
    return JSON.parse(decodeByteText(text))
  } catch {
    return undefined
  }
}

function contextOf({ request, target }: Pick<Attempt, "request" | "target">) {
  return { model: target.model.id, reading: request.reading }
}

function usualPath({ call, request, target }: LaneRequest): string {
  return call.protocol.upstreamPath(request.reading, target.upstreamModel)
}

function operationOf(attempt: LaneRequest): ProviderOperation {
  const { operation, stream, headers } = attempt.request.reading
  return { operation, stream, headers, model: attempt.target.upstreamModel, usualPath: usualPath(attempt) }
}

function relayPipe(relay: StreamRelay, watch: StreamWatcher): StreamPipe {
  const tee = new Tee({
    observer: relay.observer,
    edit: (frame) => relay.edit(frame),
    growth: {
      partOf: grownPartKey,
      mayVary: relay.mayVary,
      onAlike: (bytes) => relay.passedAlike?.(bytes),
      onText: (bytes, from, to) => watch.onText(bytes, from, to),
    },
    onFrame: (frame) => watch.onFrame(frame),
    onEvent: (event) => watch.onEvent(event),
    onObserverFailure: (cause) => watch.onObserverFailure(cause),
  })
  const repair = new Utf8Repair()
  return {
    push(bytes) {
      const valid = repair.push(bytes)
      return valid.length === 0 ? undefined : tee.push(valid)
    },
    finish() {
      const cutOff = repair.finish()
      const before = cutOff && tee.push(cutOff)
      const last = tee.finish()
      return before && last ? Buffer.concat([before, last]) : (before ?? last)
    },
    interpretEnd: () => tee.conclude(),
    terminal: () => (tee.isHeld ? "" : relay.terminal()),
    end(usage) {
      const end = tee.held ?? relay.terminal()
      const ending = usage && relay.endWithUsage ? relay.endWithUsage(end, usage) : end
      return ending === "" ? undefined : fromByteText(ending)
    },
    errorFrame: (error, context) => relay.errorFrame(error, context),
    errorPauseMs: relay.errorPauseMs,
    usageAlike: () => relay.usageAlike?.(),
  }
}
