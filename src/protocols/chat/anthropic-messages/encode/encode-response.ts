// Encodes a whole response for clients of this protocol.

import type { ChatResponse } from "../../../../canonical/chat/chat-response.ts"
import type { ContentPart, ReasoningPart, TextPart, ToolCallPart } from "../../../../canonical/chat/content-part.ts"
import type { JsonObject } from "../../../../canonical/json.ts"
import type { ClientResponseContext } from "../../../chat-codec.ts"
import { approximated, dropped } from "../../../losses.ts"
import { toolInput } from "../../../schema/tool-input.ts"
import { encodeCitation } from "../citations.ts"
import { encodeFinish } from "../finish-reasons.ts"
import { isOwn, ownMembers } from "../passthrough-fields.ts"
import { encloseCallSeal, slotText } from "../seals.ts"
import { encodeUsage, ownToolUse, SERVER_TOOL_USE } from "../usage.ts"
import { callOpening, messageId, reportResponseLoss, wholeBlock } from "./encode-response-common.ts"

export function encodeResponse(response: ChatResponse, context: ClientResponseContext): JsonObject {
  const [candidate, ...others] = response.candidates
  for (const { index } of others)
    reportResponseLoss(context, { path: `candidates[${index}]`, what: "a second candidate" })
  if (candidate?.logprobs) context.losses.push(dropped.hint("logprobs", "a messages response has no log probabilities"))
  const parts = candidate?.parts ?? []
  const blocks = parts.flatMap((part, index) => encodePart(part, { index, context }))
  const content = blocks.slice(0, blocks.findLastIndex(({ type }) => type !== "redacted_thinking") + 1)
  const calls = parts.some((part) => part.kind === "tool-call" && part.runsAt === "client")
  const refuses = parts.some(({ kind }) => kind === "refusal")
  const members = ownMembers(response.extra, { at: "", losses: context.losses })
  const { [SERVER_TOOL_USE]: _, ...rest } = members
  return {
    id: messageId(response.id, context),
    type: "message",
    role: "assistant",
    model: context.model,
    content,
    ...encodeFinish(candidate?.finish, { calls, refuses, losses: context.losses }),
    stop_details: null,
    usage: { ...encodeUsage(response.usage ?? {}), ...ownToolUse(members) },
    ...rest,
  }
}

interface ResponsePartContext {
  readonly index: number
  readonly context: ClientResponseContext
}

function encodePart(part: ContentPart, { index, context }: ResponsePartContext): JsonObject[] {
  const path = `content[${index}]`
  switch (part.kind) {
    case "text":
      return textBlock(part, path, context)
    case "refusal":
      return part.text === "" ? [] : [{ type: "text", text: part.text }]
    case "reasoning":
      return reasoningBlock(part)
    case "tool-call":
      return callBlocks(part, { index, context })
    default: {
      const block = wholeBlock(part)
      if (!block)
        reportResponseLoss(context, {
          path,
          what: part.kind === "media" ? part.media : "content that exists only in another protocol",
        })
      return block ? [block] : []
    }
  }
}

/** Clients send the response back, and the vendor refuses empty text. */
function textBlock(
  { text, citations, extra }: TextPart,
  path: string,
  { losses }: ClientResponseContext,
): JsonObject[] {
  if (text === "") return []
  if (citations?.some(({ start }) => start !== undefined)) {
    losses.push(
      approximated.hint(`${path}.citations`, "a citation covers the whole text block in the messages protocol"),
    )
  }
  // The vendor omits the member if there are no citations, and clients refuse null.
  const cited = citations && citations.length > 0 && { citations: citations.map(encodeCitation) }
  return [{ type: "text", text, ...cited, ...(isOwn(extra) && extra.members) }]
}

function reasoningBlock({ form, text, sealed }: ReasoningPart): JsonObject[] {
  if (text === "" && !sealed) return []
  if (sealed && form === "hidden" && text === "") return [{ type: "redacted_thinking", data: slotText(sealed) }]
  return [{ type: "thinking", thinking: text, signature: sealed ? slotText(sealed) : "" }]
}

function callBlocks(part: ToolCallPart, { index, context }: ResponsePartContext): JsonObject[] {
  const opening = callOpening(part, { id: context.id, number: index })
  if (!opening) {
    reportResponseLoss(context, { path: `content[${index}]`, what: "a tool call that another provider ran" })
    return []
  }
  const { input, exact } = toolInput(part)
  if (!exact) {
    const why = "its arguments are not a JSON object and are returned as text"
    context.losses.push(approximated.meaning(`content[${index}].input`, why))
  }
  const { sealed } = part
  const seal = sealed && { type: "redacted_thinking", data: encloseCallSeal(String(opening.id), sealed) }
  return [...(seal ? [seal] : []), { ...opening, input }]
}
