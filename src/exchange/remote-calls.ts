// Calls of remote servers' tools in a conversation, for targets that cannot be told of them as such: they are told as
// calls of tools of the caller's own, or in words where a target takes calls only beside declared tools.
import type { Losses } from "../canonical/loss.ts"
import type { Part, TextPart, ToolCallPart, ToolResultPart } from "../canonical/part.ts"
import type { ChatRequest, Turn } from "../canonical/request.ts"

interface RemoteTarget {
  /** Whether the target can be told of calls of this server's tools. */
  knows(server: string): boolean
  readonly inWords: boolean
  readonly losses: Losses
}

export function tellRemoteCalls(request: ChatRequest, target: RemoteTarget): ChatRequest {
  const parts = request.turns.flatMap((turn) => turn.parts)
  const calls = new Map(parts.flatMap((part) => (isRemoteCall(part) ? [[part.id, part] as const] : [])))
  const results = new Map(parts.flatMap((part) => (isRemoteResult(part) ? [[part.callId, part] as const] : [])))
  if (calls.size === 0 && results.size === 0) return request
  const teller = new RemoteTeller({ calls, results }, target)
  return { ...request, turns: request.turns.flatMap((turn) => teller.tell(turn)) }
}

type RemoteCall = ToolCallPart & { readonly server: string }

function isRemoteCall(part: Part): part is RemoteCall {
  return part.kind === "tool-call" && part.runsAt === "provider" && part.server !== undefined
}

function isRemoteResult(part: Part): part is ToolResultPart {
  return part.kind === "tool-result" && part.isRemote === true
}

interface Conversation {
  readonly calls: ReadonlyMap<string, RemoteCall>
  readonly results: ReadonlyMap<string, ToolResultPart>
}

class RemoteTeller {
  constructor(
    private readonly conversation: Conversation,
    private readonly target: RemoteTarget,
  ) {}

  /** A turn in which a call is answered becomes several: results are the user's to tell. */
  tell(turn: Turn): Turn[] {
    if (!turn.parts.some((part) => isRemoteCall(part) || isRemoteResult(part))) return [turn]
    const told: Turn[] = []
    let said: Part[] = []
    let found: Part[] = []
    const flush = () => {
      if (said.length > 0) told.push({ ...(told.length === 0 ? turn : beside(turn)), parts: said })
      if (found.length > 0) told.push({ ...beside(turn), role: "user", parts: found })
      said = []
      found = []
    }
    for (const part of turn.parts) {
      const spoken = this.part(part)
      if (isRemoteResult(part) && spoken?.kind === "tool-result" && !spoken.isRemote) found.push(spoken)
      else {
        if (found.length > 0) flush()
        if (spoken) said.push(spoken)
      }
    }
    flush()
    return told
  }

  private part(part: Part): Part | undefined {
    if (isRemoteCall(part)) return this.call(part)
    return isRemoteResult(part) ? this.result(part) : part
  }

  private call(call: RemoteCall): Part | undefined {
    const { target } = this
    if (target.knows(call.server)) return call
    if (!this.conversation.results.has(call.id)) return this.lose(call, "a remote server's call that has no result")
    this.approximate(call, target.inWords ? "words" : "calls")
    if (target.inWords) return undefined
    const { server: _, extra: __, ...rest } = call
    return { ...rest, name: toolName(call), runsAt: "client" }
  }

  private result(result: ToolResultPart): Part | undefined {
    const call = this.conversation.calls.get(result.callId)
    if (!call) return this.lose(result, "a remote server's result whose call is not there")
    if (this.target.knows(call.server)) return result
    const texts = result.parts.filter((part): part is TextPart => part.kind === "text")
    if (texts.length === 0) this.lose(result, "what a remote server's tool gave back and is no text")
    if (this.target.inWords) return { kind: "text", text: inWords(call, { result, texts }), ...placeOf(result) }
    const { isRemote: _, extra: __, name: ___, ...rest } = result
    return { ...rest, parts: texts }
  }

  private lose({ at = "" }: Part, what: string): undefined {
    this.target.losses.push({ path: at, weight: "meaning", how: "dropped", why: `the provider cannot be told ${what}` })
  }

  private approximate({ at = "" }: Part, how: keyof typeof WHYS): void {
    this.target.losses.push({ path: at, weight: "hint", how: "approximated", why: WHYS[how] })
  }
}

const WHYS = {
  calls: "a remote server's call is told as a call of a tool of the caller's",
  words: "a remote server's call is told in words",
}

function beside({ at, role }: Turn): Omit<Turn, "parts"> {
  return { ...(at !== undefined && { at }), role }
}

function placeOf({ at, cacheMark }: Part): Pick<TextPart, "at" | "cacheMark"> {
  return { ...(at !== undefined && { at }), ...(cacheMark && { cacheMark }) }
}

/** As agents that call such servers themselves name their tools. */
function toolName({ server, name }: RemoteCall): string {
  return `mcp__${server}__${name}`
}

function inWords(
  { server, name, arguments: said }: RemoteCall,
  { result, texts }: { result: ToolResultPart; texts: readonly TextPart[] },
): string {
  const came = result.isError ? "failed" : "answered"
  const text = texts.map((part) => part.text).join("\n")
  return `The tool ${name} of the remote server ${server} was called with ${said === "" ? "{}" : said} and ${came}:\n${text}`
}
