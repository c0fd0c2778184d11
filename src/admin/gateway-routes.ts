// The gateway itself: its state, models, providers, configuration and metrics.

import type { ResponseHeaderFields } from "../canonical/response-headers.ts"
import { object, optional, required } from "../canonical/schema/object-schema.ts"
import { boolean, integer, list, nullable, text } from "../canonical/schema/value-schema.ts"
import { type AnyAdminRoute, adminRoute, BODY_LIMIT } from "./admin-route.ts"
import type { GatewayView } from "./gateway-view.ts"
import { checkedProviders, toCheckedView } from "./provider-routes.ts"

const readOptions = { method: "GET", access: "administrator", bodyLimit: 0 } as const
const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER })

const status = object({
  version: required(text()),
  uptime_seconds: required(count),
  demo: required(boolean),
  in_flight: required(count),
  models: required(count),
})
const target = object({
  provider: required(text()),
  model: required(text()),
  live: required(boolean),
  priced: required(boolean),
})
const checked = object({
  valid: required(boolean),
  demo: required(boolean),
  sound: required(boolean),
  models: required(
    object({ known: required(count), callable: required(count), unpriced: required(list(text(), { max: 100_000 })) }),
  ),
  providers: required(checkedProviders),
})
const model = object({
  id: required(text()),
  kind: required(text()),
  name: required(text()),
  context_window: required(nullable(count)),
  max_output_tokens: required(nullable(count)),
  targets: required(list(target)),
})
const problem = object({
  path: required(text({ max: 2000 })),
  message: required(text({ max: 10_000 })),
  line: optional(count),
  column: optional(count),
})

export function gatewayRoutes(gateway: GatewayView): AnyAdminRoute[] {
  return [
    adminRoute({
      ...readOptions,
      path: "/admin/v1/status",
      summary: "Show the gateway's health.",
      responseSchema: status,
      handle: () => ({ ...gateway.status() }),
    }),
    adminRoute({
      ...readOptions,
      path: "/admin/v1/models",
      summary: "List every model with its targets, and which of them can be reached.",
      responseSchema: object({ models: required(list(model, { max: 100_000 })) }),
      handle: () => ({
        models: gateway.models().map((each) => ({ ...each, targets: each.targets.map((target) => ({ ...target })) })),
      }),
    }),
    adminRoute({
      ...readOptions,
      path: "/metrics",
      summary: "Return the metrics in Prometheus text format.",
      responseType: "text/plain",
      handle: () => {
        const { text: exposed, type } = gateway.metrics()
        const headers: ResponseHeaderFields = { "content-type": type }
        return new Response(exposed, { headers })
      },
    }),
    adminRoute({
      method: "POST",
      access: "administrator",
      path: "/admin/v1/config/check",
      bodyLimit: BODY_LIMIT,
      summary: "Validate a configuration, or the file in force, and list its problems; nothing is changed.",
      bodySchema: object({ text: optional(text({ max: BODY_LIMIT, about: "The content of trivium.yaml." })) }),
      responseSchema: object({ valid: required(boolean), problems: required(list(problem)) }),
      handle: ({ body }) => {
        const problems = gateway.configProblems(body.text).map((each) => ({ ...each }))
        return { valid: problems.length === 0, problems }
      },
    }),
    adminRoute({
      ...readOptions,
      method: "POST",
      path: "/admin/v1/check",
      summary: "Count the models that can be called, and check that every provider accepts its credential.",
      responseSchema: checked,
      handle: async () => {
        const { models, providers, ...report } = await gateway.check()
        const counted = { ...models, unpriced: [...models.unpriced] }
        return { ...report, models: counted, providers: providers.map(toCheckedView) }
      },
    }),
  ]
}
