// A client call as the exchange sees it, and the dependencies that serve it.
import type { Caller } from "../access/caller.ts"
import type { Allowance } from "../access/limits/rate-limiter.ts"
import type { IdentifierSalt } from "../access/secrets/identifier-salt.ts"
import type { Ledger } from "../ledger/ledger.ts"
import type { CodecRegistry } from "../protocols/chat-codec.ts"
import type { Protocol, RequestEnvelope } from "../protocols/contract.ts"
import type { Affinity } from "../routing/affinity.ts"
import type { HealthMonitor } from "../routing/health-monitor.ts"
import type { RotationCounter } from "../routing/rotation-counter.ts"
import type { RoutingTable } from "../routing/route-plan.ts"
import type { DeadlineTimer } from "../transport/deadline-timer.ts"
import type { SerialQueue } from "../transport/event-loop/serial-queue.ts"
import type { RetryBudget } from "./attempt/retry-budget.ts"
import type { UpstreamCalls } from "./attempt/upstream-calls.ts"
import type { LimitOverruns } from "./charge/limit-overruns.ts"
import type { TokenCounting } from "./charge/measured-usage.ts"
import type { IdempotencyRegistry } from "./conversations/idempotency.ts"
import type { SealCache } from "./conversations/seal-cache.ts"
import type { StoredResponses } from "./conversations/stored-responses.ts"
import type { InlineMedia, TranslatedRequest, TranslateTask, WantedMedia } from "./lanes/translate-request.ts"
import type { ReadLargeRequest } from "./read-request.ts"
import type { ExchangeProgress } from "./record/exchange-progress.ts"
import type { ExchangeEnd } from "./record/exchange-record.ts"

export interface ClientCall {
  readonly protocol: Protocol
  readonly envelope: RequestEnvelope
  readonly caller: Caller
  /** What the caller may still use of its tokens. */
  readonly allowance: Pick<Allowance, "reserve" | "correct">
  /** The path that lists the models this caller can name. */
  readonly modelsPath: string
  /** By which the caller knows this request again, should it have to send it twice. */
  readonly idempotencyKey: string | undefined
  readonly progress: ExchangeProgress
  /** Whether the client has left. */
  isGone(): boolean
  readBody(): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>
  /** Releases the body's bytes once only its text is needed. Called at most once. */
  shrinkBody(): void
  /** The body will not be needed again, though the exchange goes on. */
  releaseBody(): void
  /** Closes the connection of a client that does not read any more. */
  closeConnection(): void
  /** Called exactly once, when nothing more will be sent: frees the slot and reports the record. */
  finish(end: ExchangeEnd): void
}

export interface ExchangeTimeouts {
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

export const DEFAULT_TIMEOUTS: ExchangeTimeouts = {
  connectMs: 5000,
  firstEventMs: 60_000,
  gapMs: 60_000,
  patientMs: 300_000,
  streamMs: 30 * 60_000,
  unaryMs: 10 * 60_000,
  heartbeatMs: 10_000,
  stalledMs: 30_000,
}

export type ExchangeLedger = Pick<
  Ledger,
  "hold" | "extend" | "note" | "settle" | "release" | "balance" | "leftOf" | "flush"
>

export interface ExchangeDeps {
  /** The table in force now; an exchange uses the one it began with. */
  readonly table: () => RoutingTable
  /** What was seen of every account, and of every model there. */
  readonly health: HealthMonitor
  /** Where the prompt caches of sessions are. */
  readonly affinity: Affinity
  readonly rotation: RotationCounter
  readonly retries: RetryBudget
  /** Uniform in [0, 1). */
  readonly chance: () => number
  readonly deadlines: DeadlineTimer
  readonly timeouts: ExchangeTimeouts
  readonly upstreamCalls: UpstreamCalls
  /** Reads requests too large for the event loop. */
  readonly readLarge: ReadLargeRequest
  /** Translates such requests; rejects with a GatewayError as `translateRequest` throws it. */
  readonly translateLarge: (text: string, task: TranslateTask) => Promise<TranslatedRequest | WantedMedia>
  /** Queue for large requests: reading several at once would take too much memory and time. */
  readonly largeRequestQueue: SerialQueue
  readonly codecs: CodecRegistry
  readonly sealCache: SealCache
  /** Absent if nothing is charged. */
  readonly ledger: ExchangeLedger | undefined
  /** What callers' identifiers leave as. */
  readonly identifiers: Pick<IdentifierSalt, "salt">
  /** Targets that do not keep to the limits they are given. */
  readonly overruns: LimitOverruns
  readonly repeats: Pick<IdempotencyRegistry, "begin">
  readonly responses: Pick<StoredResponses, "conversation" | "continued" | "resolve" | "begin">
  /** Counts what an upstream does not. */
  readonly tokens: TokenCounting
  /** Called with charges that could not be written yet. */
  readonly onUnwritten: (writing: Promise<void>) => void
  /** Fetches callers' URLs for upstreams that do not; absent unless the operator allows it. */
  readonly fetchMedia?: ((addresses: readonly string[]) => Promise<ReadonlyMap<string, InlineMedia>>) | undefined
  /** Reports an internal error that no response shows. */
  readonly onFault: (cause: unknown) => void
}
