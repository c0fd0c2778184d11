// Builds responses with the headers that name the request, where the response came from, its cost and its losses.
import type { Loss } from "../canonical/loss.ts"
import { usdOfNano } from "../canonical/usd.ts"
import { ClientResponse, type ResponseBody, ResponseHeaders } from "./client-response.ts"
import type { ExchangeProgress, MappedModel } from "./record/exchange-progress.ts"

interface ResponseOptions {
  readonly body: ResponseBody
  readonly contentType: string
  readonly status?: number
  /** False if the serving provider is not known yet, or the gateway itself answers. */
  readonly namesOrigin?: boolean
  /** Another request's id, if its response is replayed. */
  readonly requestId?: string
}

export function buildResponse(progress: ExchangeProgress, options: ResponseOptions): ClientResponse {
  const { body, contentType, status = 200, namesOrigin = true, requestId = progress.requestId } = options
  const { arrival, attempts, admitted, charge } = progress
  const headers = new ResponseHeaders(originHeaders(namesOrigin ? progress : undefined, contentType))
  headers.set("x-request-id", requestId)
  if (arrival.protocol?.idHeader !== undefined) headers.set(arrival.protocol.idHeader, requestId)
  if (charge?.settled) headers.set("x-gateway-cost", usdOfNano(charge.settled.costNano))
  if (admitted?.mapped) headers.set("x-gateway-mapped-from", formatMappedNames(admitted.mapped))
  const losses = attempts.serving?.losses
  if (losses && losses.length > 0) headers.set("x-gateway-losses", formatLosses(losses))
  return new ClientResponse(body, status, headers)
}

/** The names that were mapped, as far as a header can hold what a caller wrote. */
function formatMappedNames(mapped: readonly MappedModel[]): string {
  return mapped.map(({ from }) => from.replace(/[^\x21-\x2b\x2d-\x7e]/g, "?").slice(0, 200)).join(", ")
}

const MAX_LOSSES_LENGTH = 2048

/** The number of losses, and their paths up to a length. A path may hold text of the caller. */
function formatLosses(losses: readonly Loss[]): string {
  const paths = [...new Set(losses.map(({ path }) => path.replace(/[^\x21-\x7e]/g, "?").slice(0, 200)))]
  let header = `${losses.length}`
  for (const [index, path] of paths.entries()) {
    const longer = `${header}${index === 0 ? "; " : ", "}${path}`
    if (longer.length > MAX_LOSSES_LENGTH - 5) return `${header}, ...`
    header = longer
  }
  return header
}

const origins = new Map<string, ResponseHeaders>()
const MAX_ORIGINS = 10_000

/** Most responses come from few targets: their headers are made once and copied, which costs less than to set each. */
function originHeaders(progress: ExchangeProgress | undefined, contentType: string): ResponseHeaders {
  const count = progress?.attempts.count ?? 0
  const { model, account } = (count > 0 && progress?.attempts.serving?.target) || {}
  const key = model && account ? `${contentType}\n${model.id}\n${account.id}\n${count}` : contentType
  const known = origins.get(key)
  if (known) return known
  const headers = new ResponseHeaders()
  headers.set("content-type", contentType)
  if (model && account) {
    headers.set("x-gateway-model", model.id)
    headers.set("x-gateway-provider", account.id)
    headers.set("x-gateway-attempts", String(count))
  }
  if (origins.size >= MAX_ORIGINS) origins.clear()
  origins.set(key, headers)
  return headers
}
