// One scripted host for every upstream protocol: it finds a request's cell by the tag in the first prompt, sends the
// next answer of the cell's scenario, and records faults in the request.
import { createHash } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { UpstreamProtocol } from "../conformance/axes.ts"
import type { MatrixToolCall, ReceivedConversation, ReceivedPart, ScriptedAnswer } from "../conformance/conversation.ts"
import { REASONING_ID } from "../conformance/upstreams/openai-responses-request.ts"
import type { EventBytes, RequestTarget, UpstreamFormat } from "../conformance/upstreams/upstream-format.ts"
import { upstreamFormats } from "../conformance/upstreams/upstream-formats.ts"
import { brokenRules } from "../conformance/upstreams/vendor-rules.ts"
import { members, parsed, text, type WireMembers } from "../conformance/wire.ts"
import { tagIn } from "./cell.ts"
import { type ClientScenario, REFUSAL, type ScenarioCall, scenarios, toolResult } from "./scenarios.ts"

/** The common prefix of the ids of scripted answers: responses, chat completions, messages, Gemini's. */
const SHARED_IDS = /0a1b2c|AbC123|AbCdEf|mOsAaf/g

/** Whether a request asks to see thoughts; hosts of open models always show them. */
const SHOWS_THOUGHTS: Readonly<Record<UpstreamProtocol, (body: WireMembers) => boolean>> = {
  "openai-chat": () => true,
  "openai-responses": ({ reasoning }) => members(reasoning).summary !== undefined,
  "anthropic-messages": ({ thinking }) => isThinking(thinking),
  "gemini-generate": ({ generationConfig }) => {
    // Google takes both spellings, and its Python library writes the second.
    const { includeThoughts, include_thoughts } = members(members(generationConfig).thinkingConfig)
    return (includeThoughts ?? include_thoughts) === true
  },
  "bedrock-converse": ({ additionalModelRequestFields: more }) => isThinking(members(more).thinking),
}

function isThinking(thinking: unknown): boolean {
  return ["enabled", "adaptive"].includes(text(members(thinking).type))
}

export function thoughtOf(step: number): string {
  return `Thought number ${step + 1}.`
}

interface ReceivedScenario {
  readonly format: UpstreamFormat
  readonly addressed: RequestTarget
  readonly body: WireMembers
  readonly received: ReceivedConversation
  readonly tag: string
  readonly scenario: ClientScenario
}

export class ScenarioHost {
  /** The faults in the requests of a cell, by its tag. */
  readonly faults = new Map<string, Set<string>>()
  private answers = 0

  private constructor(private readonly server: Server) {}

  static async start(): Promise<ScenarioHost> {
    const server = createServer((request, response) => void host.serve(request, response))
    const host = new ScenarioHost(server)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return host
  }

  get origin(): string {
    const address = this.server.address()
    if (address === null || typeof address === "string") throw new Error("the host does not listen")
    return `http://127.0.0.1:${address.port}`
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const received = readRequest(request.url ?? "", Buffer.concat(pieces).toString())
    if (typeof received === "string") {
      this.note("no cell", [received])
      response.writeHead(404, { "content-type": "application/json" }).end("{}")
      return
    }
    const { format, scenario, tag } = received
    this.note(tag, requestFaults(received))
    if (scenario.failure?.cause === "refused by the provider") return refuse(response, format.protocol)
    await this.answer(received, response)
  }

  private async answer(request: ReceivedScenario, response: ServerResponse): Promise<void> {
    const { format, addressed, body, scenario } = request
    const answer = nextAnswer(request)
    // Stored items are found again by their ids, and some libraries take two answers of one id for one.
    const number = (++this.answers).toString(16).padStart(6, "0")
    const own = (bytes: EventBytes) => (typeof bytes === "string" ? bytes.replaceAll(SHARED_IDS, number) : bytes)
    if (!addressed.stream) {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(own(JSON.stringify(format.whole(answer, body))))
      return
    }
    response.writeHead(200, { "content-type": format.contentType })
    const { events, untilLastPiece } = format.stream(answer, body)
    const breaks = scenario.failure?.cause === "broken stream"
    for (const event of breaks ? events.slice(0, untilLastPiece) : events) response.write(own(event))
    // So that the pieces have arrived when the stream breaks.
    if (breaks) await Bun.sleep(20)
    response.end(breaks ? format.errorEvent : undefined)
  }

  private note(tag: string, faults: readonly string[]): void {
    const known = this.faults.get(tag) ?? new Set()
    this.faults.set(tag, known)
    for (const fault of faults) known.add(fault)
  }
}

/** The request with its cell, or what is wrong with it. */
function readRequest(path: string, raw: string): ReceivedScenario | string {
  const body = members(parsed(raw.replace(/rs_[0-9a-f]{6}3d4e5f/g, REASONING_ID)))
  for (const format of Object.values(upstreamFormats)) {
    const addressed = format.addressed(path, body)
    if (!addressed) continue
    const received = format.parseRequest(body, addressed)
    const tag = tagIn(raw)
    const scenario = scenarios.find(({ name }) => tag?.endsWith(`| ${name}]`))
    if (tag === undefined || !scenario) return `a request of no cell: ${raw.slice(0, 200)}`
    return { format, addressed, body, received, tag, scenario }
  }
  return `a call to ${path}, which generates nothing`
}

function stepOf({ turns }: ReceivedConversation): number {
  return turns.filter(({ by }) => by === "assistant").length
}

function nextAnswer(request: ReceivedScenario): ScriptedAnswer {
  const { scenario, received } = request
  const step = stepOf(received)
  const next = scenario.steps[step]
  const thoughts = showsThoughts(request) ? [{ reasoning: thoughtOf(step), seal: sealOf(request.tag, step) }] : []
  if (!next) return { parts: [{ text: `The scenario has no answer number ${step + 1}.` }], finish: "stop" }
  if ("text" in next) return { parts: [...thoughts, { text: next.text }], finish: "stop" }
  return { parts: [...thoughts, ...callsOf(request, step).map((call) => ({ call }))], finish: "tool-calls" }
}

function showsThoughts({ format, body, scenario }: ReceivedScenario): boolean {
  return scenario.thinking && SHOWS_THOUGHTS[format.protocol](body)
}

/** A signature as vendors write them: base64. */
function sealOf(tag: string, step: number): string {
  return createHash("sha512").update(`${tag} ${step}`).digest("base64")
}

function callsOf({ scenario, tag }: ReceivedScenario, step: number): (MatrixToolCall & ScenarioCall)[] {
  const uses = scenario.steps[step]
  const cell = createHash("sha256").update(tag).digest("hex").slice(0, 12)
  return uses && "calls" in uses ? uses.calls.map((use, at) => ({ id: `call_${cell}_${step}_${at}`, ...use })) : []
}

/** Faults that a vendor would reject or that would confuse a model. */
function requestFaults(request: ReceivedScenario): string[] {
  const { format, received, body, scenario } = request
  const parts = received.turns.flatMap((turn) => turn.parts)
  const done = stepOf(received)
  const given = scenario.steps.slice(0, done).flatMap((step) => ("text" in step ? [step.text] : []))
  const answers = received.turns.filter(({ by }) => by === "assistant")
  // Some libraries send the pieces of a stream back as they came.
  const texts = answers.map((turn) => turn.parts.map((part) => (part.kind === "text" ? part.text : "")).join(""))
  return [
    ...brokenRules(format.protocol, { received, body }),
    ...given.filter((each) => !texts.includes(each)).map((each) => `the answer “${each}” has not come back`),
    ...wrongResults(parts, request),
    ...missingSeals(parts, request),
  ]
}

function wrongResults(parts: readonly ReceivedPart[], request: ReceivedScenario): string[] {
  const calls = Array.from({ length: stepOf(request.received) }, (_, step) => callsOf(request, step)).flat()
  const received = parts.flatMap((part) => (part.kind === "call" ? [part.call] : []))
  if (received.length !== calls.length) return [`${calls.length} calls were made, ${received.length} have come back`]
  const results = parts.flatMap((part) => (part.kind === "result" ? [part] : []))
  return calls.flatMap((call, index) => {
    const again = received[index]
    // Google gives calls no ids, and some of its libraries drop those of others: then they go by their order.
    const isNameless = request.format.protocol === "gemini-generate" || again?.id.startsWith("call_unnamed_")
    const isSame = isNameless || again?.id === call.id
    if (!again || !isSame || again.name !== call.name || !Bun.deepEquals(again.arguments, call.arguments))
      return [`the call ${JSON.stringify(call)} came back as ${JSON.stringify(again)}`]
    const result = results.find(({ callId }) => callId === again.id)?.text ?? "nothing"
    return result.includes(toolResult(call)) ? [] : [`the result of ${JSON.stringify(call)} is ${result}`]
  })
}

/** Within a run of tool turns the vendors want their signatures back. */
function missingSeals(parts: readonly ReceivedPart[], request: ReceivedScenario): string[] {
  const { scenario, received, tag, format } = request
  if (scenario.tools.length === 0 || format.protocol === "openai-chat" || !showsThoughts(request)) return []
  // Some libraries decode a signature, and send it back in the other alphabet of base64.
  const returned = parts.map((part) =>
    "seal" in part ? part.seal?.replaceAll("-", "+").replaceAll("_", "/") : undefined,
  )
  return Array.from({ length: stepOf(received) }, (_, step) => step)
    .filter((step) => !returned.includes(sealOf(tag, step)))
    .map((step) => `the signature of answer ${step + 1} has not come back`)
}

function refuse(response: ServerResponse, protocol: UpstreamProtocol): void {
  const { headers = {}, body } = REFUSALS[protocol]
  response.writeHead(400, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
}

interface VendorRefusal {
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object
}

const OPENAI_REFUSAL: VendorRefusal = {
  body: { error: { message: REFUSAL, type: "invalid_request_error", param: "temperature", code: "invalid_value" } },
}

const REFUSALS: Readonly<Record<UpstreamProtocol, VendorRefusal>> = {
  "openai-chat": OPENAI_REFUSAL,
  "openai-responses": OPENAI_REFUSAL,
  "anthropic-messages": {
    body: { type: "error", error: { type: "invalid_request_error", message: REFUSAL }, request_id: "req_011CSHoEeqs5" },
  },
  "gemini-generate": { body: { error: { code: 400, message: REFUSAL, status: "INVALID_ARGUMENT" } } },
  "bedrock-converse": {
    headers: { "x-amzn-errortype": "ValidationException" },
    body: { message: REFUSAL },
  },
}
