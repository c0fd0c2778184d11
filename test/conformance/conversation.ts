// The conversation of a cell, in no protocol's form: the client's requests and replies, the upstream's requests and
// answers.

/** A request of a driver. */
export interface MatrixRequest {
  readonly instructions?: string
  readonly turns: readonly RequestTurn[]
  readonly tools?: readonly MatrixTool[]
  readonly forcedTool?: string
  readonly format?: { readonly name: string; readonly schema: MatrixJson }
  /** Think hard, and show it. */
  readonly thinkHard?: true
  readonly stop?: readonly string[]
  readonly maxOutputTokens?: number
  /** Keep the instructions and the first turn in the prompt cache, in whatever way the protocol has. */
  readonly cached?: true
  /** Earlier answers are kept by the gateway, and named by the ids of their items. */
  readonly byReference?: true
  /** A server whose tools the provider calls itself. */
  readonly server?: RemoteServer
}

export interface RemoteServer {
  readonly label: string
  readonly url: string
  readonly token: string
  readonly allowed: readonly string[]
}

/** A call that the provider made at a remote server, and what came of it. */
export interface RemoteCall {
  readonly server: string
  readonly name: string
  readonly arguments: MatrixJson
  readonly output: string
}

export type RequestTurn =
  | { readonly by: "user"; readonly parts: readonly UserPart[] }
  | { readonly by: "assistant"; readonly text: string }
  /** An earlier answer, in the library's own objects. */
  | { readonly by: "assistant"; readonly echo: unknown }
  | { readonly by: "tools"; readonly results: readonly ToolResultInput[] }

export type UserPart =
  | { readonly text: string }
  | { readonly image: MediaFile }
  | { readonly document: MediaFile & { readonly name: string } }
  | { readonly passage: { readonly title: string; readonly source: string; readonly text: string } }

export interface MediaFile {
  readonly mediaType: string
  readonly base64: string
}

export interface MatrixTool {
  readonly name: string
  readonly description: string
  readonly schema: MatrixJson
}

export interface ToolResultInput {
  readonly call: MatrixToolCall
  readonly text: string
  readonly image?: MediaFile
  readonly failed?: true
}

export interface MatrixToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: MatrixJson
}

/** The result of one call in a client's library; it raised if there is a failure. */
export interface ClientOutcome {
  /** The texts that came one by one, of a stream. */
  readonly pieces: readonly string[]
  readonly reply?: ClientReply
  readonly failure?: ClientFailure
}

export interface ClientReply {
  readonly text: string
  readonly reasoning: string
  /** The text of a refusal, apart from other text. */
  readonly refusal?: string
  readonly calls: readonly MatrixToolCall[]
  readonly remoteCalls?: readonly RemoteCall[]
  /** In the protocol's own word. */
  readonly finish: string
  /** The matched stop sequence, if the protocol reports it. */
  readonly stopSequence?: string
  readonly usage?: TokenCounts
  /** The model's name in the answer's body. */
  readonly model: string
  /** The header that names what was lost. */
  readonly losses?: string
  /** The answer as the library's users put it into their next request. */
  readonly echo: unknown
}

export interface ClientFailure {
  /** Whether it is the library's own error, which its users catch. */
  readonly isOfLibrary: boolean
  readonly status?: number
  readonly code?: string
  readonly message: string
}

/** Sums with the same meaning at both ends; absent if a protocol does not report them. */
interface TokenCounts {
  /** Everything read, from a cache or not. */
  readonly input: number
  readonly cacheRead?: number
  /** Everything written, thoughts included. */
  readonly output: number
  readonly reasoning?: number
}

/** An upstream's answer. */
export interface ScriptedAnswer {
  readonly parts: readonly AnswerPart[]
  readonly finish: FinishKind
  readonly stopSequence?: string
  /** Tokens of the prompt written to a cache, if the protocol reports that. */
  readonly wroteCache?: true
  /** A stream breaks off after its text: by an error of the protocol, or by a closed connection. */
  readonly breaks?: "with an error" | "without a word"
}

export type AnswerPart =
  | { readonly reasoning: string; readonly seal: string }
  /** Gemini signs its last text also where it has shown no thought. */
  | { readonly text: string; readonly seal?: string }
  | { readonly refusal: string }
  | { readonly call: MatrixToolCall }
  | { readonly remote: RemoteCall }

/** Gemini's signature on the first call of an answer without a thought, which it expects back. */
export const UNSEEN_SEAL = "CrYBAR/unseen+thoughtQ=="

/** For features that a protocol cannot express: no cell requests them. */
export function unspeakable(part: object): never {
  throw new Error(`this protocol cannot express ${JSON.stringify(part)}`)
}

export type FinishKind = "stop" | "stop-sequence" | "length" | "tool-calls" | "refusal"

/** The usage that an upstream reports for every answer. */
export const USAGE = { fresh: 40, cacheRead: 20, visible: 11, reasoning: 6 } as const
export const OUTPUT_TOKENS = USAGE.visible + USAGE.reasoning
const CACHE_WRITE = 10

export function cacheWriteOf({ wroteCache }: ScriptedAnswer): number {
  return wroteCache ? CACHE_WRITE : 0
}

/** Everything read, written to a cache or not. */
export function inputOf(answer: ScriptedAnswer): number {
  return USAGE.fresh + USAGE.cacheRead + cacheWriteOf(answer)
}

/** A request as its receiver reads it. */
export interface ReceivedConversation {
  readonly model: string
  readonly stream: boolean
  readonly instructions: string
  readonly turns: readonly ReceivedTurn[]
  readonly tools: readonly MatrixTool[]
  readonly choice: "auto" | "none" | "any" | { readonly tool: string }
  readonly schema?: MatrixJson
  readonly stop: readonly string[]
  readonly maxOutputTokens?: number
  readonly effort?: string
  readonly budgetTokens?: number
  /** The texts right before each cache mark. */
  readonly marked: readonly string[]
  readonly cacheKey?: string
  readonly servers?: readonly RemoteServer[]
}

export interface ReceivedTurn {
  readonly by: "user" | "assistant"
  readonly parts: readonly ReceivedPart[]
}

export type ReceivedPart =
  | { readonly kind: "text"; readonly text: string; readonly seal?: string }
  | { readonly kind: "image" | "document"; readonly media: MediaFile }
  | { readonly kind: "reasoning"; readonly text: string; readonly seal?: string }
  | { readonly kind: "call"; readonly call: MatrixToolCall; readonly seal?: string }
  | {
      readonly kind: "result"
      readonly callId: string
      readonly text: string
      readonly images: readonly MediaFile[]
      readonly failed: boolean
    }
  /** A passage in a block of its own. */
  | { readonly kind: "passage"; readonly title: string; readonly source: string; readonly text: string }
  | { readonly kind: "unknown"; readonly value: unknown }

export type MatrixJson =
  | string
  | number
  | boolean
  | null
  | readonly MatrixJson[]
  | { readonly [member: string]: MatrixJson }
export type JsonObject = { readonly [member: string]: MatrixJson }

/** Text as models send it: a few characters at a time. */
export function inPieces(text: string): string[] {
  return text.match(/[\s\S]{1,7}/gu) ?? []
}
