// Rules of order that a vendor enforces in every request, although the request can be parsed.
import type { UpstreamProtocol } from "../axes.ts"
import type { ReceivedConversation, ReceivedTurn } from "../conversation.ts"
import { list, members, text, type WireMembers } from "../wire.ts"

export function brokenRules(
  protocol: UpstreamProtocol,
  { received, body }: { received: ReceivedConversation; body: WireMembers },
): string[] {
  return [...unreadParts(received), ...looseCalls(received), ...OWN_RULES[protocol](received, body)]
}

function unreadParts({ turns }: ReceivedConversation): string[] {
  return turns.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.kind === "unknown" ? [`a part it does not know: ${JSON.stringify(part.value)}`] : [],
    ),
  )
}

/** Every call is answered in the next turn, once, and nothing else is answered there. */
function looseCalls({ turns }: ReceivedConversation): string[] {
  return turns.flatMap((turn, index) => {
    const calls = turn.parts.flatMap((part) => (part.kind === "call" ? [part.call.id] : []))
    const next = turns[index + 1]?.parts ?? []
    const answered = next.flatMap((part) => (part.kind === "result" ? [part.callId] : []))
    const isEven = calls.toSorted().join() === answered.toSorted().join()
    return isEven ? [] : [`calls ${calls.join(", ")}, and behind them results of ${answered.join(", ")}`]
  })
}

type OwnRules = (received: ReceivedConversation, body: WireMembers) => string[]

const OWN_RULES: Readonly<Record<UpstreamProtocol, OwnRules>> = {
  "openai-chat": ({ turns }) => turns.flatMap(lateResults),
  "openai-responses": ({ turns }) => turns.flatMap(lateResults),
  "anthropic-messages": ({ turns }, body) => [
    ...turns.flatMap(lateResults),
    ...(typeof body.max_tokens === "number" ? [] : ["no max_tokens"]),
  ],
  "gemini-generate": ({ turns }) => turns.flatMap(unsignedCalls),
  "bedrock-converse": ({ turns }, body) => [
    ...turns.flatMap(lateResults),
    ...unevenTurns(body),
    ...missingToolConfig(body),
  ],
}

/** Results precede any other content of the user. */
function lateResults({ parts }: ReceivedTurn): string[] {
  const last = parts.findLastIndex(({ kind }) => kind === "result")
  const isFirst = parts.slice(0, last + 1).every(({ kind }) => kind === "result")
  return isFirst ? [] : ["a result behind something else"]
}

/** Models of the third generation want the first call of each step signed. */
function unsignedCalls({ parts }: ReceivedTurn): string[] {
  const first = parts.find((part) => part.kind === "call")
  return first && first.seal === undefined ? [`a call of ${first.call.name} without a signature`] : []
}

/** The sides take turns, and the user begins. */
function unevenTurns({ messages }: WireMembers): string[] {
  const roles = list(messages).map((message) => text(members(message).role))
  const isEven = roles.every((role, index) => role === (index % 2 === 0 ? "user" : "assistant"))
  return isEven ? [] : [`messages of ${roles.join(", ")}`]
}

/** Calls require the configuration of their tools. */
function missingToolConfig({ messages, toolConfig }: WireMembers): string[] {
  const blocks = list(messages).flatMap((message) => list(members(message).content).map(members))
  const isNeeded = blocks.some((block) => "toolUse" in block || "toolResult" in block)
  return isNeeded && toolConfig === undefined ? ["calls without toolConfig"] : []
}
