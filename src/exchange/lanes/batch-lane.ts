// The lane of translated requests without streams (embeddings, images): the request becomes one or more calls of the
// target, and their responses one response.
import type { GatewayError } from "../../canonical/gateway-error.ts"
import { type JsonObject, parseJsonObject } from "../../canonical/json.ts"
import type { Loss } from "../../canonical/loss.ts"
import type { UpstreamError } from "../../protocols/contract.ts"
import type { ProtocolEndpoint, ProviderOperation } from "../../providers/contract.ts"
import type { Target } from "../../routing/route-plan.ts"
import type { SendRequest } from "../../transport/http-client.ts"
import { decodeUtf8, encodeByteText, fromByteText } from "../../transport/json/byte-text.ts"
import { spliceJson } from "../../transport/json/json-splice.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import { isLarge } from "../read-request.ts"
import type { Attempt, Lane, LaneRequest, StreamPipe, UnaryAnswer } from "./lane.ts"
import { sendParallelCalls } from "./parallel-calls.ts"
import { asUntranslatable } from "./translate-lane.ts"
import { refuseLosses } from "./translate-request.ts"

/** A request as calls of a target, and the reading of their responses. */
export interface TranslatedCalls<CallResponse> {
  readonly operation: Pick<ProviderOperation, "operation" | "headers"> & { readonly path: string }
  /** One for each call. */
  readonly bodies: readonly JsonObject[]
  /** Losses of the response may be added. */
  readonly losses: Loss[]
  /** Undefined if the body is not a valid response to this call. */
  decode(body: JsonObject, index: number): CallResponse | undefined
  /** Completes the responses when all calls are answered. */
  complete?(responses: CallResponse[]): Promise<void>
  join(responses: readonly CallResponse[], attempt: Attempt): UnaryAnswer
  decodeError(error: UpstreamError): GatewayError
}

interface BatchDispatch {
  /** The target, with an endpoint that makes all calls at once. */
  readonly target: Target
  readonly lane: Lane
}

/** Rejects with an UntranslatableError if the request cannot be translated for the target. */
export async function batchDispatch<CallResponse>(
  target: Target,
  { call, deps, request }: ExchangeContext,
  translate: () => TranslatedCalls<CallResponse>,
): Promise<BatchDispatch> {
  const isStrict = request.reading.routing.strict || call.caller.strict
  const dispatch = async () => {
    try {
      const calls = translate()
      if (isStrict) refuseLosses(calls.losses)
      const lane = new BatchLane(calls, target)
      return { target: lane.target, lane }
    } catch (thrown) {
      throw asUntranslatable(thrown)
    }
  }
  return isLarge(request.text.length) ? deps.largeRequestQueue.run(dispatch) : dispatch()
}

class BatchLane<CallResponse> implements Lane {
  readonly target: Target
  private readonly operation: ProviderOperation
  private readonly responses: CallResponse[] = []

  constructor(
    private readonly calls: TranslatedCalls<CallResponse>,
    target: Target,
  ) {
    const { endpoint, upstreamModel: model } = target
    const { operation, path, headers } = calls.operation
    this.operation = { operation, model, stream: false, usualPath: path, headers }
    this.target = { ...target, endpoint: { ...endpoint, send: this.sendAll(endpoint) } }
  }

  url({ target: { endpoint } }: LaneRequest): string {
    return endpoint.baseUrl + (endpoint.path ? endpoint.path(this.operation) : this.operation.usualPath)
  }

  message({ target: { endpoint } }: LaneRequest) {
    const headers = endpoint.headersWith(this.operation.headers)
    return { headers, body: this.body(endpoint, 0), losses: this.calls.losses }
  }

  /** The bytes matter only if a call failed; then they are its response. */
  answer(_: Uint8Array, attempt: Attempt): UnaryAnswer | undefined {
    if (this.calls.bodies.some((_, index) => !this.responses[index])) return undefined
    return this.calls.join(this.responses, attempt)
  }

  openPipe(): StreamPipe {
    throw new Error("these responses are not streamed")
  }

  decodeError(error: UpstreamError): GatewayError {
    return this.calls.decodeError(error)
  }

  private sendAll(endpoint: ProtocolEndpoint): SendRequest {
    const count = this.calls.bodies.length
    const batch = { count, body: (index: number) => this.body(endpoint, index), take: this.take.bind(this) }
    const sendBatch = sendParallelCalls(batch, endpoint.send)
    return async (outgoing) => {
      const answer = await sendBatch(outgoing)
      if (answer.ok) await this.calls.complete?.(this.responses)
      return answer
    }
  }

  private body(endpoint: ProtocolEndpoint, index: number): Uint8Array<ArrayBuffer> {
    const text = JSON.stringify(this.calls.bodies[index])
    const edits = endpoint.edits?.(this.operation) ?? []
    return edits.length === 0 ? Buffer.from(text) : fromByteText(spliceJson(encodeByteText(text), edits))
  }

  private take(index: number, bytes: Uint8Array): boolean {
    const body = parseJsonObject(decodeUtf8(bytes))
    const response = body && this.calls.decode(body, index)
    if (response === undefined) return false
    this.responses[index] = response
    return true
  }
}
