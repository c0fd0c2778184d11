// Rewrites tool names and call ids to the form an upstream accepts. The mapping depends only on the name, so prompt
// caches hit; responses use the caller's names again.
import { createHash } from "node:crypto"
import type { ChatRequest, ConversationTurn, ToolChoice, ToolDefinition } from "../../canonical/chat/chat-request.ts"
import type { ContentPart } from "../../canonical/chat/content-part.ts"

interface NameRules {
  readonly toolName: RegExp
  readonly callId: RegExp
}

interface FittedRequest {
  readonly request: ChatRequest
  /** The caller's names, by what they were sent as. */
  readonly names: ReadonlyMap<string, string>
}

const NO_NAMES: ReadonlyMap<string, string> = new Map()

export function fitNames(request: ChatRequest, fitting: NameRules): FittedRequest {
  if (hasFittingNames(request, fitting)) return { request, names: NO_NAMES }
  const names = new Map<string, string>()
  const fitName = (name: string): string => {
    if (fitting.toolName.test(name)) return name
    const sent = shortenName(name, fitting.toolName)
    names.set(sent, name)
    return sent
  }
  const fit = { name: fitName, id: (id: string) => fitCallId(id, fitting.callId) }
  const { toolChoice } = request
  return {
    request: {
      ...request,
      turns: request.turns.map(
        (turn): ConversationTurn => ({ ...turn, parts: turn.parts.map((part) => fitPart(part, fit)) }),
      ),
      tools: request.tools.map(
        (tool): ToolDefinition => (tool.kind === "hosted" ? tool : { ...tool, name: fitName(tool.name) }),
      ),
      ...(toolChoice && { toolChoice: fitChoice(toolChoice, fitName) }),
    },
    names,
  }
}

function hasFittingNames({ tools, turns }: ChatRequest, { toolName, callId }: NameRules): boolean {
  const partFits = (part: ContentPart): boolean => {
    if (part.kind === "tool-call") return toolName.test(part.name) && callId.test(part.id)
    if (part.kind !== "tool-result") return true
    return callId.test(part.callId) && (part.name === undefined || toolName.test(part.name))
  }
  return (
    tools.every((tool) => tool.kind === "hosted" || toolName.test(tool.name)) &&
    turns.every(({ parts }) => parts.every(partFits))
  )
}

interface NameFitter {
  name(name: string): string
  id(id: string): string
}

function fitPart(part: ContentPart, fit: NameFitter): ContentPart {
  if (part.kind === "tool-call") return { ...part, id: fit.id(part.id), name: fit.name(part.name) }
  if (part.kind !== "tool-result") return part
  const { name } = part
  return { ...part, callId: fit.id(part.callId), ...(name !== undefined && { name: fit.name(name) }) }
}

function fitChoice(choice: ToolChoice, fitName: (name: string) => string): ToolChoice {
  if (choice.mode === "tool") return { ...choice, name: fitName(choice.name) }
  return choice.mode === "some" ? { ...choice, names: choice.names.map(fitName) } : choice
}

/** The id of a call as those take it who want ids of this form. */
export function fitCallId(id: string, pattern: RegExp): string {
  return pattern.test(id) ? id : shortenName(id, pattern)
}

/** The prefix of a name that fits, and a hash that keeps it unique. */
function shortenName(name: string, pattern: RegExp): string {
  const hash = createHash("sha256").update(name).digest("hex")
  const kept = name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 28)
  const candidates = [`${kept}_${hash.slice(0, 8)}`, `t_${hash.slice(0, 24)}`, hash.slice(0, 9)]
  const found = candidates.find((candidate) => pattern.test(candidate))
  if (found === undefined) throw new Error(`no name fits ${pattern}`)
  return found
}
