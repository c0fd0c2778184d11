// One client call as the exchange sees it, and the house it is answered from.
import type { Caller } from "../accounts/caller.ts"
import type { IdentifierSalt } from "../accounts/identifier-salt.ts"
import type { Allowance } from "../accounts/limits.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { Codecs } from "../protocols/codec.ts"
import type { Envelope, Protocol } from "../protocols/contract.ts"
import type { Affinity } from "../routing/affinity.ts"
import type { Health } from "../routing/health.ts"
import type { RoutingTable } from "../routing/plan.ts"
import type { Turns } from "../routing/turns.ts"
import type { Deadlines } from "../transport/deadlines.ts"
import type { OneByOne } from "../transport/one-by-one.ts"
import type { KeptSeals } from "./kept-seals.ts"
import type { LimitOverruns } from "./limit-overruns.ts"
import type { ExchangeRecord } from "./record.ts"
import type { Repeats } from "./repeats.ts"
import type { ReadLarge } from "./request.ts"
import type { RetryBudget } from "./retry-budget.ts"
import type { Running } from "./running.ts"
import type { TokenCounting } from "./spent.ts"
import type { StoredResponses } from "./stored-responses.ts"
import type { InlineMedia, TranslatedRequest, TranslateTask, WantedMedia } from "./translate-request.ts"

export interface Call {
  readonly protocol: Protocol
  readonly envelope: Envelope
  readonly caller: Caller
  /** What the caller may still use of its tokens. */
  readonly allowance: Pick<Allowance, "reserve" | "correct">
  /** The path that lists the models this caller can name. */
  readonly modelsPath: string
  /** By which the caller knows this request again, should it have to send it twice. */
  readonly idempotencyKey: string | undefined
  readonly record: ExchangeRecord
  /** Whether the client has left. */
  isGone(): boolean
  readBody(): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>
  /** Of the body no more than its text is needed. Said at most once. */
  bodyRead(): void
  /** The body will not be needed again, though the exchange goes on. */
  forgetBody(): void
  /** Closes the connection of a client that does not read any more. */
  cutOff(): void
  /** Said exactly once, when nothing more will be sent: frees the place and writes the record. */
  finish(): void
}

export interface Timeouts {
  readonly connectMs: number
  readonly firstEventMs: number
  readonly gapMs: number
  /** In place of both where the model reasons, and of the gap while a tool call is open. */
  readonly patientMs: number
  readonly streamMs: number
  readonly unaryMs: number
  /** After so much silence a stream begins, or goes on, with a heart-beat. */
  readonly heartbeatMs: number
  /** A client that takes nothing for so long is cut off. */
  readonly stalledMs: number
}

export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 5000,
  firstEventMs: 60_000,
  gapMs: 60_000,
  patientMs: 300_000,
  streamMs: 30 * 60_000,
  unaryMs: 10 * 60_000,
  heartbeatMs: 10_000,
  stalledMs: 30_000,
}

export type Books = Pick<Ledger, "hold" | "extend" | "note" | "settle" | "release" | "balance" | "leftOf" | "flush">

export interface House {
  /** The table in force now; an exchange uses the one it began with. */
  readonly table: () => RoutingTable
  /** What was seen of every account, and of every model there. */
  readonly health: Health
  /** Where the prompt caches of sessions are. */
  readonly affinity: Affinity
  readonly turns: Turns
  readonly retries: RetryBudget
  /** Even, from 0 to below 1. */
  readonly chance: () => number
  readonly deadlines: Deadlines
  readonly timeouts: Timeouts
  readonly running: Running
  /** Reads requests too large for the event loop. */
  readonly readLarge: ReadLarge
  /** Translates such requests; rejects with a GatewayError as `translateRequest` throws it. */
  readonly translateLarge: (text: string, task: TranslateTask) => Promise<TranslatedRequest | WantedMedia>
  /** What they wait in: reading several at once would take memory and time from everybody else. */
  readonly largeInTurn: OneByOne
  readonly codecs: Codecs
  readonly seals: KeptSeals
  /** Absent where nobody is charged. */
  readonly ledger: Books | undefined
  /** What callers' identifiers leave as. */
  readonly identifiers: Pick<IdentifierSalt, "salt">
  /** Targets that do not keep to the limits they are given. */
  readonly overruns: LimitOverruns
  readonly repeats: Pick<Repeats, "begin">
  readonly responses: Pick<StoredResponses, "conversation" | "continued" | "resolve" | "begin">
  /** Counts what an upstream does not. */
  readonly tokens: TokenCounting
  /** Told of what is owed and could not be written yet. */
  readonly onUnwritten: (writing: Promise<void>) => void
  /** Fetches what stands at addresses of a caller's, for upstreams that do not; absent where the operator does not allow it. */
  readonly fetchMedia?: ((addresses: readonly string[]) => Promise<ReadonlyMap<string, InlineMedia>>) | undefined
  /** A fault of ours that no answer shows. */
  readonly onFault: (cause: unknown) => void
}
