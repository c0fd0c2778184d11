// GET / and GET /health: entry points for people and probes, which lead to /docs and /healthz.
import { ClientResponse } from "../exchange/client-response.ts"
import type { ExchangeProgress } from "../exchange/record/exchange-progress.ts"
import type { Protocol } from "../protocols/contract.ts"
import { jsonResponse } from "./json-response.ts"
import type { GatewayRoute } from "./request-context.ts"

const PLACES = {
  name: "Trivium",
  docs: "/docs",
  openapi: "/openapi.json",
  models: "/v1/models",
  health: "/healthz",
}

export function entryRoutes(protocol: Protocol): GatewayRoute[] {
  const open = { method: "GET", who: "anyone", bodyLimit: 0, protocol, generates: false } as const
  return [
    {
      ...open,
      name: "GET /",
      path: "/",
      handle: ({ request, progress }) => {
        const isBrowser = request.headers.get("accept")?.includes("text/html") ?? false
        return isBrowser ? redirectTo("/docs", progress) : jsonResponse(PLACES, progress)
      },
    },
    { ...open, name: "GET /health", path: "/health", handle: ({ progress }) => redirectTo("/healthz", progress) },
  ]
}

function redirectTo(path: string, { requestId }: ExchangeProgress): ClientResponse {
  const answer = new ClientResponse(null, 307)
  answer.headers.set("location", path)
  answer.headers.set("x-request-id", requestId)
  return answer
}
