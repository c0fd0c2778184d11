// Rewrites remote servers' tool calls for targets that do not support them: as calls of the caller's own tools, or as
// text if the target accepts calls only with declared tools.

import type { ChatRequest, ConversationTurn } from "../../canonical/chat/chat-request.ts"
import type { ContentPart, TextPart, ToolCallPart, ToolResultPart } from "../../canonical/chat/content-part.ts"
import type { Losses } from "../../canonical/loss.ts"

interface RemoteTarget {
  /** True if the target supports calls of this server's tools. */
  knows(server: string): boolean
  readonly inWords: boolean
  readonly losses: Losses
}

export function rewriteRemoteCalls(request: ChatRequest, target: RemoteTarget): ChatRequest {
  const parts = request.turns.flatMap((turn) => turn.parts)
  const calls = new Map(parts.flatMap((part) => (isRemoteCall(part) ? [[part.id, part] as const] : [])))
  const results = new Map(parts.flatMap((part) => (isRemoteResult(part) ? [[part.callId, part] as const] : [])))
  if (calls.size === 0 && results.size === 0) return request
  const teller = new RemoteCallRewriter({ calls, results }, target)
  return { ...request, turns: request.turns.flatMap((turn) => teller.rewriteTurn(turn)) }
}

type RemoteToolCall = ToolCallPart & { readonly server: string }

function isRemoteCall(part: ContentPart): part is RemoteToolCall {
  return part.kind === "tool-call" && part.runsAt === "provider" && part.server !== undefined
}

function isRemoteResult(part: ContentPart): part is ToolResultPart {
  return part.kind === "tool-result" && part.isRemote === true
}

interface RemoteCallIndex {
  readonly calls: ReadonlyMap<string, RemoteToolCall>
  readonly results: ReadonlyMap<string, ToolResultPart>
}

class RemoteCallRewriter {
  constructor(
    private readonly conversation: RemoteCallIndex,
    private readonly target: RemoteTarget,
  ) {}

  /** A turn in which a call is answered becomes several: results are the user's to tell. */
  rewriteTurn(turn: ConversationTurn): ConversationTurn[] {
    if (!turn.parts.some((part) => isRemoteCall(part) || isRemoteResult(part))) return [turn]
    const turns: ConversationTurn[] = []
    let parts: ContentPart[] = []
    let found: ContentPart[] = []
    const flush = () => {
      if (parts.length > 0) turns.push({ ...(turns.length === 0 ? turn : turnFields(turn)), parts: parts })
      if (found.length > 0) turns.push({ ...turnFields(turn), role: "user", parts: found })
      parts = []
      found = []
    }
    for (const part of turn.parts) {
      const rewritten = this.part(part)
      if (isRemoteResult(part) && rewritten?.kind === "tool-result" && !rewritten.isRemote) found.push(rewritten)
      else {
        if (found.length > 0) flush()
        if (rewritten) parts.push(rewritten)
      }
    }
    flush()
    return turns
  }

  private part(part: ContentPart): ContentPart | undefined {
    if (isRemoteCall(part)) return this.call(part)
    return isRemoteResult(part) ? this.result(part) : part
  }

  private call(call: RemoteToolCall): ContentPart | undefined {
    const { target } = this
    if (target.knows(call.server)) return call
    if (!this.conversation.results.has(call.id))
      return this.noteDropped(call, "a remote server's call that has no result")
    this.approximate(call, target.inWords ? "words" : "calls")
    if (target.inWords) return undefined
    const { server: _, extra: __, ...rest } = call
    return { ...rest, name: toolName(call), runsAt: "client" }
  }

  private result(result: ToolResultPart): ContentPart | undefined {
    const call = this.conversation.calls.get(result.callId)
    if (!call) return this.noteDropped(result, "a remote server's result without its call")
    if (this.target.knows(call.server)) return result
    const texts = result.parts.filter((part): part is TextPart => part.kind === "text")
    if (texts.length === 0) this.noteDropped(result, "the non-text result of a remote server's tool")
    if (this.target.inWords)
      return { kind: "text", text: describeCall(call, { result, texts }), ...positionFields(result) }
    const { isRemote: _, extra: __, name: ___, ...rest } = result
    return { ...rest, parts: texts }
  }

  private noteDropped({ at = "" }: ContentPart, what: string): undefined {
    this.target.losses.push({
      path: at,
      weight: "meaning",
      how: "dropped",
      why: `not supported by the provider: ${what}`,
    })
  }

  private approximate({ at = "" }: ContentPart, how: keyof typeof WHYS): void {
    this.target.losses.push({ path: at, weight: "hint", how: "approximated", why: WHYS[how] })
  }
}

const WHYS = {
  calls: "a remote server's call is sent as a call of one of the caller's tools",
  words: "a remote server's call is described in text",
}

function turnFields({ at, role }: ConversationTurn): Omit<ConversationTurn, "parts"> {
  return { ...(at !== undefined && { at }), role }
}

function positionFields({ at, cacheMark }: ContentPart): Pick<TextPart, "at" | "cacheMark"> {
  return { ...(at !== undefined && { at }), ...(cacheMark && { cacheMark }) }
}

/** As agents that call such servers themselves name their tools. */
function toolName({ server, name }: RemoteToolCall): string {
  return `mcp__${server}__${name}`
}

function describeCall(
  { server, name, arguments: args }: RemoteToolCall,
  { result, texts }: { result: ToolResultPart; texts: readonly TextPart[] },
): string {
  const came = result.isError ? "failed" : "answered"
  const text = texts.map((part) => part.text).join("\n")
  return `The tool ${name} of the remote server ${server} was called with ${args === "" ? "{}" : args} and ${came}:\n${text}`
}
