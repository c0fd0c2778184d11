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
  headers.add("x-request-id", requestId)
  if (arrival.protocol?.idHeader !== undefined) headers.add(arrival.protocol.idHeader, requestId)
  if (charge?.settled) headers.add("x-gateway-cost", usdOfNano(charge.settled.costNano))
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

/** The headers that responses of one kind from one target begin with. */
interface OriginHeaders {
  readonly contentType: string
  readonly model: string | undefined
  readonly provider: string | undefined
  readonly attempts: number
  readonly headers: ResponseHeaders
}

const origins = new Map<string, OriginHeaders>()
const MAX_ORIGINS = 10_000
/** The origin of the response before, which often is that of the next. */
let lastOrigin: OriginHeaders | undefined

/** Most responses come from few targets: their headers are made once and copied, which costs less than to set each. */
function originHeaders(progress: ExchangeProgress | undefined, contentType: string): ResponseHeaders {
  const target = progress?.attempts.serving?.target
  const attempts = target ? progress.attempts.count : 0
  const [model, provider] = [target?.model.id, target?.account.id]
  if (
    lastOrigin?.model === model &&
    lastOrigin?.provider === provider &&
    lastOrigin?.attempts === attempts &&
    lastOrigin.contentType === contentType
  )
    return lastOrigin.headers
  const key = `${contentType}\n${model}\n${provider}\n${attempts}`
  const origin = origins.get(key) ?? newOrigin({ contentType, model, provider, attempts })
  if (origins.size >= MAX_ORIGINS) origins.clear()
  origins.set(key, origin)
  lastOrigin = origin
  return origin.headers
}

function newOrigin(from: Omit<OriginHeaders, "headers">): OriginHeaders {
  const headers = new ResponseHeaders()
  headers.set("content-type", from.contentType)
  if (from.model !== undefined && from.provider !== undefined) {
    headers.set("x-gateway-model", from.model)
    headers.set("x-gateway-provider", from.provider)
    headers.set("x-gateway-attempts", String(from.attempts))
  }
  return { ...from, headers }
}
