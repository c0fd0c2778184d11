// A scripted model on a real socket that does the task: it reads the declared tools, calls them step by step in its own
// protocol, and records calls that return changed.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import {
  type ReceivedConversation,
  type ReceivedPart,
  type ScriptedAnswer,
  UNSEEN_SEAL,
} from "../conformance/conversation.ts"
import { upstreamFormats } from "../conformance/upstreams/upstream-formats.ts"
import { brokenRules } from "../conformance/upstreams/vendor-rules.ts"
import { members, parsed, text, type WireMembers } from "../conformance/wire.ts"
import { callsOf, misfits, wrongCalls } from "./calls.ts"
import { ANSWER, type ToolSteps } from "./task.ts"

/** The protocols a model can be scripted in here. */
export type ModelProtocol = "openai-chat" | "anthropic-messages" | "gemini-generate"

/** Whether a request asks to see thoughts; hosts of open models always show them. */
const SHOWS_THOUGHTS: Readonly<Record<ModelProtocol, (body: WireMembers) => boolean>> = {
  "openai-chat": () => true,
  "anthropic-messages": ({ thinking }) => ["enabled", "adaptive"].includes(text(members(thinking).type)),
  "gemini-generate": ({ generationConfig }) =>
    members(members(generationConfig).thinkingConfig).includeThoughts === true,
}

export class ScriptedModel {
  /** Faults in the requests since its steps were set. */
  readonly faults = new Set<string>()
  /** Whether it has answered that the task is done. */
  isDone = false
  private steps: ToolSteps = []
  private reply = ANSWER
  /** The signatures that it expects back. */
  readonly seals = new Set<string>()

  private constructor(
    private readonly protocol: ModelProtocol,
    private readonly server: Server,
  ) {}

  static async start(protocol: ModelProtocol): Promise<ScriptedModel> {
    const server = createServer((request, response) => void model.serve(request, response))
    const model = new ScriptedModel(protocol, server)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return model
  }

  get origin(): string {
    const address = this.server.address()
    if (address === null || typeof address === "string") throw new Error("the model does not listen")
    return `http://127.0.0.1:${address.port}`
  }

  /** Calls these tools, and then replies; without any tools it replies at once. */
  willDo(steps: ToolSteps, reply = ANSWER): void {
    this.steps = steps
    this.reply = reply
    this.isDone = false
    this.faults.clear()
    this.seals.clear()
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const body = members(parsed(Buffer.concat(pieces).toString()))
    const format = upstreamFormats[this.protocol]
    const addressed = format.addressed(request.url ?? "", body)
    if (!addressed) {
      this.faults.add(`a call to ${request.method} ${request.url}, which generates nothing`)
      response.writeHead(404, { "content-type": "application/json" }).end("{}")
      return
    }
    const received = format.parseRequest(body, addressed)
    this.note(brokenRules(format.protocol, { received, body }))
    const answer = this.answerTo(received, body)
    if (addressed.stream) {
      response.writeHead(200, { "content-type": format.contentType })
      for (const event of format.stream(answer, body).events) response.write(event)
      response.end()
    } else {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(format.whole(answer, body)))
    }
  }

  private answerTo(received: ReceivedConversation, body: WireMembers): ScriptedAnswer {
    const offered = new Map(received.tools.map((tool) => [tool.name, tool]))
    // Agents also ask for a title or a summary, without tools.
    const isAside = this.steps.length > 0 && !this.steps.flat().some(({ tool }) => offered.has(tool))
    if (isAside) return { parts: [{ text: "Greetings" }], finish: "stop" }
    const parts = received.turns.flatMap((turn) => turn.parts)
    const step = this.stepBehind(parts)
    this.note(wrongCalls(parts, { steps: this.steps.slice(0, step), haveIds: this.protocol !== "gemini-generate" }))
    this.note(this.sealsMissing(parts))
    const uses = this.steps[step]
    if (!uses) {
      this.isDone = true
      return this.lastAnswer(step, body)
    }
    this.note(uses.flatMap((use) => misfits(use, offered.get(use.tool))))
    const calls = callsOf(uses, step).map((call) => ({ call }))
    return { parts: [...this.thoughts(step, body), ...calls], finish: "tool-calls" }
  }

  /** It thinks before its last answer too, as models do. */
  private lastAnswer(step: number, body: WireMembers): ScriptedAnswer {
    const thoughts = this.thoughts(step, body)
    const isUnseen = thoughts.length === 0 && this.protocol === "gemini-generate"
    return { parts: [...thoughts, { text: this.reply, ...(isUnseen && { seal: UNSEEN_SEAL }) }], finish: "stop" }
  }

  private thoughts(step: number, body: WireMembers): ScriptedAnswer["parts"] {
    const isShown = SHOWS_THOUGHTS[this.protocol](body)
    const seal = Buffer.from(`sealed thought ${step}`).toString("base64")
    if (isShown && this.protocol !== "openai-chat") this.seals.add(seal)
    if (!isShown && this.protocol === "gemini-generate") this.seals.add(UNSEEN_SEAL)
    if (!isShown) return []
    return [{ reasoning: `This is step ${step + 1}.`, seal }]
  }

  /** The index of the next step after this many results; beyond the last step if all are answered. */
  private stepBehind(parts: readonly ReceivedPart[]): number {
    const results = parts.filter(({ kind }) => kind === "result").length
    let calls = 0
    for (const [step, uses] of this.steps.entries()) {
      if (results <= calls) return step
      calls += uses.length
    }
    return this.steps.length
  }

  /** A vendor expects its signatures back while the conversation continues. */
  private sealsMissing(parts: readonly ReceivedPart[]): string[] {
    const sealsIn = parts.map((part) => ("seal" in part ? part.seal : undefined))
    const missing = [...this.seals].filter((seal) => !sealsIn.includes(seal))
    return missing.map((seal) => `the signature ${seal} has not come back`)
  }

  private note(faults: readonly string[]): void {
    for (const fault of faults) this.faults.add(fault)
  }
}
