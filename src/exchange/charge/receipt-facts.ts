// Facts on a receipt besides the booked amounts: the request's parameters, its attempts, and its translation losses.

import type { GatewayError } from "../../canonical/gateway-error.ts"
import type { Json, JsonObject } from "../../canonical/json.ts"
import type { ToolFee } from "../../ledger/tool-fees.ts"
import type { UserIdentifier } from "../../protocols/contract.ts"
import type { ObservedAttempt } from "../../telemetry/observed-exchange.ts"
import type { AttemptLog } from "../attempt/attempt-log.ts"
import type { ClientCall } from "../exchange-deps.ts"
import type { ReadRequest } from "../read-request.ts"
import type { UsageBasis } from "./measured-usage.ts"

interface ReceiptInput {
  readonly request: ReadRequest
  /** Absent where nothing was used. */
  readonly basis?: UsageBasis
  /** The model that answered in place of the one that was called, and whose price was charged. */
  readonly answeredModel?: string | undefined
  readonly exceedsWindow?: boolean | undefined
  /** For tools that the provider ran. */
  readonly fees?: readonly ToolFee[]
  /** The error that ended the response. */
  readonly error?: GatewayError | undefined
}

/** Only facts that differ from the usual; undefined if none does, as for most responses. */
export function receiptFacts(call: ClientCall, input: ReceiptInput): JsonObject | undefined {
  const facts: Record<string, Json> = {}
  addRequestFacts(facts, call, input)
  addUsageFacts(facts, input)
  addAttemptFacts(facts, call, input)
  addPolicy(facts, call, input)
  for (const _ in facts) return facts
  return undefined
}

function addRequestFacts(facts: Record<string, Json>, { progress }: ClientCall, { request, basis }: ReceiptInput) {
  const { admitted, attempts } = progress
  const { model, stream, identifiers } = request.reading
  if (!basis || model !== attempts.serving?.target.model.id) facts.requested_model = model
  if (admitted?.mapped) facts.mapped = admitted.mapped.map((each) => ({ ...each }))
  if (!basis || stream) facts.stream = stream
  if (identifiers) facts.identifiers = Object.fromEntries(identifiers.map(toIdentifierView))
}

function addUsageFacts(
  facts: Record<string, Json>,
  { basis, answeredModel, exceedsWindow, fees = [] }: ReceiptInput,
): void {
  if (basis && basis !== "reported") facts.basis = basis
  if (answeredModel !== undefined) facts.answered_model = answeredModel
  if (exceedsWindow) facts.exceeds_window = true
  if (fees.length > 0) facts.tool_fees = fees.map((fee) => ({ ...fee }))
}

function addAttemptFacts(
  facts: Record<string, Json>,
  { progress: { attempts }, protocol }: ClientCall,
  { basis, error }: ReceiptInput,
): void {
  const { target, losses } = attempts.serving ?? {}
  if (target && target.protocol !== protocol.id) facts.upstream_protocol = target.protocol
  if (!basis || attempts.failed || error || attempts.count !== 1) facts.attempts = toAttemptViews(attempts, error)
  if (!basis || losses) facts.losses = (losses ?? []).map((loss) => ({ ...loss }))
}

function addPolicy(facts: Record<string, Json>, { caller }: ClientCall, { request, basis }: ReceiptInput): void {
  const { strategy, fallback, strict: isRequested } = request.reading.routing
  const strict = isRequested === true || caller.strict
  if (basis && !strict && !strategy && fallback.length === 0) return
  facts.policy = {
    ...(strategy && { routing: strategy }),
    ...(fallback.length > 0 && { fallback }),
    ...(strict && { strict }),
  }
}

const MAX_IDENTIFIER = 256

/** As the caller wrote it, whatever it was sent as. */
function toIdentifierView({ path, value }: UserIdentifier): [string, string] {
  return [path.join("."), value.slice(0, MAX_IDENTIFIER)]
}

function toAttemptViews({ serving, failed = [], isOpen }: AttemptLog, error: GatewayError | undefined): JsonObject[] {
  const made = failed.map(toAttemptView)
  if (!serving || !isOpen) return made
  const { target } = serving
  return [...made, { provider: target.account.id, model: target.model.id, ...(error && { error: error.code }) }]
}

function toAttemptView({ provider, model, error, outrun }: ObservedAttempt): JsonObject {
  const status = error?.upstreamStatus
  const failed = { ...(status !== undefined && { status }), ...(error && { error: error.code }) }
  return { provider, model, ...failed, ...(outrun && { outrun }) }
}
