// Encodes a generateContent request. Members that do not change between turns come first, for prompt caches.

import type { ChatRequest } from "../../../../canonical/chat/chat-request.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { UpstreamRequestContext } from "../../../chat-codec.ts"
import { isNative, PROTOCOL, reportForeignFields, restorePassthrough } from "../passthrough-fields.ts"
import { ContentsEncoder } from "./encode-messages.ts"
import { PartEncoder } from "./encode-part.ts"
import { encodeSettings } from "./encode-settings.ts"
import { encodeTools } from "./encode-tools.ts"
import { generationOf } from "./model-generation.ts"

export function encodeRequest(request: ChatRequest, context: UpstreamRequestContext): JsonObject {
  const { losses, minter, model } = context
  const encoder = new PartEncoder({
    losses,
    isOurs: (mintedBy) => mintedBy === minter || mintedBy === PROTOCOL,
    mediaInResults: generationOf(model).mediaInResults,
    foreignRuns: "meaning",
  })
  const instructions = encoder.encode(request.instructions, "instructions")
  const contents = new ContentsEncoder(encoder, context)
  for (const [index, turn] of request.turns.entries()) contents.add(turn, turn.at ?? `turns[${index}]`)
  contents.finish()
  if (contents.written.length === 0 && instructions.length > 0) contents.sayInstructions(instructions.splice(0))
  const { tools, toolConfig } = encodeTools(request, context)
  const native = request.turns.some(({ at }) => isNative(at))
  const generationConfig = encodeSettings(request.settings, { context, native })
  reportForeignFields(request.extra, { at: "", losses })
  const steady = {
    ...(instructions.length > 0 && { systemInstruction: { parts: instructions } }),
    ...(tools.length > 0 && { tools }),
    ...(Object.keys(toolConfig).length > 0 && { toolConfig }),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
  }
  return { ...restorePassthrough(steady, request.extra), contents: contents.written }
}
