// Detects defects of complete responses, as far as that is cheap: only for requests with tools or JSON output, and only
// for short responses.

import type { CandidateFinish, ResponseCandidate } from "../../canonical/chat/chat-response.ts"
import type { StreamEvent } from "../../canonical/chat/stream-event.ts"
import { isObject, parseJson } from "../../canonical/json.ts"
import type { Usage } from "../../canonical/usage.ts"
import { FORMAT_MEMBERS, JSON_FORMAT } from "../../protocols/request-members.ts"
import type { AnswerDefect } from "../../routing/health-monitor.ts"
import { decodeUtf8 } from "../../transport/json/byte-text.ts"
import type { JsonMember } from "../../transport/json/json-scan.ts"
import type { Attempt } from "../lanes/lane.ts"
import type { ReadRequest } from "../read-request.ts"
import type { AnswerTranscript } from "../streams/answer-transcript.ts"

/** The requested output format. */
interface RequestedFormat {
  readonly tools: boolean
  readonly json: boolean
}

const MAX_ANSWER_BYTES = 64 * 1024
const MAX_PARTS = 64
const MAX_FORMAT_LENGTH = 512

/** Undefined if the response may have any format. */
export function requestedFormat({ text, outline }: Pick<ReadRequest, "text" | "outline">): RequestedFormat | undefined {
  let [tools, json] = [false, false]
  for (const member of outline.members) {
    if (member.name === "tools") tools = true
    else if (FORMAT_MEMBERS.has(member.name)) json ||= requestsJson(text, member)
  }
  return tools || json ? { tools, json } : undefined
}

function requestsJson(text: string, { valueStart, end }: JsonMember): boolean {
  return JSON_FORMAT.test(text.slice(valueStart, Math.min(end, valueStart + MAX_FORMAT_LENGTH)))
}

/** Of a whole answer, as the upstream wrote it. */
export function findAnswerDefects(bytes: Uint8Array, attempt: Attempt): readonly AnswerDefect[] {
  const { deps, request, target } = attempt
  const form = bytes.length > MAX_ANSWER_BYTES ? undefined : requestedFormat(request)
  if (!form) return []
  const body = parseJson(decodeUtf8(bytes))
  const codec = deps.codecs.upstream.get(target.protocol)
  const response = isObject(body) ? codec?.decodeResponse(body, { id: "", minter: "" }) : undefined
  const [candidate] = response?.candidates ?? []
  if (!response || !candidate) return []
  const { finish } = candidate
  return [
    ...findCandidateDefects(candidate, form),
    ...(isTruncated(finish, { usage: response.usage, attempt }) ? (["truncated"] as const) : []),
  ]
}

function findCandidateDefects({ parts, finish }: ResponseCandidate, form: RequestedFormat): AnswerDefect[] {
  if (finish?.reason === "length") return []
  const calls = parts.filter((part) => part.kind === "tool-call" && part.runsAt === "client" && part.input !== "text")
  if (calls.some((part) => part.kind === "tool-call" && !isArguments(part.arguments))) return ["invalid-arguments"]
  const [only, ...others] = parts.filter(({ kind }) => kind !== "reasoning")
  if (!form.json || finish?.reason !== "stop" || only?.kind !== "text" || others.length > 0) return []
  return parseJson(only.text) === undefined ? ["invalid-json"] : []
}

interface FinishedAnswer {
  readonly usage: Usage | undefined
  readonly attempt: Attempt
}

/** The response stopped for length before it reached the requested length. */
export function isTruncated(finish: CandidateFinish | undefined, { usage, attempt }: FinishedAnswer): boolean {
  const { request, target } = attempt
  const { maxOutputTokens = target.model.maxOutputTokens, candidates } = request.reading.outputLimits
  if (finish?.reason !== "length" || maxOutputTokens === undefined || candidates > 1) return false
  return usage?.output !== undefined && usage.output + (usage.reasoning ?? 0) < maxOutputTokens
}

/** Observes a stream next to its transcript; overlapping parts are not checked. */
export class StreamFormatCheck {
  private last = -1
  /** Offset in the transcript where a call's arguments begin; -1 outside of calls. */
  private argumentsAt = -1
  private texts = 0
  private isJudged = true
  private isInvalid = false

  constructor(
    private readonly form: RequestedFormat,
    private readonly transcript: AnswerTranscript,
  ) {}

  /** Called with each event after its text was added to the transcript. */
  hear(event: StreamEvent): void {
    if (!this.isJudged) return
    if (event.type === "part-delta") this.isJudged = event.part === this.last && event.candidate === 0
    else if (event.type === "part-start") this.isJudged = event.part < MAX_PARTS && this.starts(event)
  }

  faults(finish: CandidateFinish | undefined): AnswerDefect[] {
    const { text, share } = this.transcript.whole()
    if (!this.isJudged || share < 1 || finish?.reason === "length") return []
    this.endCall(text)
    if (this.isInvalid) return ["invalid-arguments"]
    if (!this.form.json || this.texts !== 1 || this.last !== 0 || finish?.reason !== "stop") return []
    return parseJson(text) === undefined ? ["invalid-json"] : []
  }

  /** False if the transcript so far cannot be read. */
  private starts({ part, start }: StreamEvent & { readonly type: "part-start" }): boolean {
    const text = this.textSoFar()
    if (text === undefined) return false
    const isCall = start.kind === "tool-call"
    this.endCall(isCall ? text.slice(0, text.length - start.name.length - 1) : text)
    this.last = part
    if (start.kind === "text") this.texts++
    this.argumentsAt = isCall && start.runsAt === "client" && start.input !== "text" ? text.length : -1
    return true
  }

  /** An observer must not fail the request. */
  private textSoFar(): string | undefined {
    try {
      return this.transcript.whole().text
    } catch {
      return undefined
    }
  }

  private endCall(text: string): void {
    if (this.argumentsAt >= 0 && !isArguments(text.slice(this.argumentsAt))) this.isInvalid = true
    this.argumentsAt = -1
  }
}

/** A call without any is written in many ways. */
function isArguments(text: string): boolean {
  return text.trim() === "" || isObject(parseJson(text))
}
