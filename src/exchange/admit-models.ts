// Resolves the models a request names: applies the key's model map, and checks that each exists and is in scope.
import { mapModelName } from "../access/model-map.ts"
import { allowsModel } from "../access/scope.ts"
import { excerpt, GatewayError } from "../canonical/gateway-error.ts"
import type { CatalogModel } from "../catalog/catalog.ts"
import { KINDS, type RequestSummary } from "../protocols/contract.ts"
import type { RoutingTable } from "../routing/route-plan.ts"
import { suggestCallable } from "./callable-models.ts"
import type { ClientCall } from "./exchange-deps.ts"
import type { MappedModel } from "./record/exchange-progress.ts"
import { adviseVariant, resolveModel } from "./resolve-model.ts"

/** A model's name in a request, and the member it is in. */
interface NamedModel {
  readonly name: string
  readonly param: string
}

/** The requested model first, then its fallbacks. */
export function admitModels(call: ClientCall, reading: RequestSummary, table: RoutingTable): CatalogModel[] {
  const admission = new ModelAdmission(call, reading, table)
  const first = admission.admit({ name: reading.model || (table.imageModel ?? unnamed()), param: "model" })
  const { fallback, fallbackList } = reading.routing
  try {
    if (fallback.length === 0) return [first]
    const { member = "provider.fallback", skipped = 0 } = fallbackList ?? {}
    const others = fallback.map((name, index) => admission.admit({ name, param: `${member}[${index + skipped}]` }))
    return [first, ...others].filter((model, index, all) => all.findIndex(({ id }) => id === model.id) === index)
  } finally {
    // Also of a request with a fallback that is refused.
    call.progress.admitted = { model: first.id, stream: reading.stream, mapped: admission.mapped }
  }
}

/** Only requests for images may name no model. */
function unnamed(): never {
  const message =
    "`model` is required: the gateway has no default image model (`defaults.image_model` in its configuration)."
  throw new GatewayError("missing_parameter", message, { param: "model" })
}

class ModelAdmission {
  /** Absent if no name was mapped. */
  mapped: MappedModel[] | undefined
  private readonly kinds: readonly CatalogModel["kind"][]

  constructor(
    private readonly call: ClientCall,
    { kinds = [KINDS[call.protocol.id]] }: RequestSummary,
    private readonly table: RoutingTable,
  ) {
    this.kinds = kinds
  }

  admit({ name, param }: NamedModel): CatalogModel {
    const { caller } = this.call
    const { catalog } = this.table
    const mapped = mapModelName(caller.modelMap, name)
    const requested = mapped ?? name
    const model = catalog.find(requested) ?? resolveModel(requested, { catalog, scope: caller.models })
    if (!model) throw this.unknown({ name: requested, param }, mapped === undefined ? undefined : name)
    if (!allowsModel(caller.models, model.id)) {
      const why = mapped === undefined ? "" : ` Its model map maps \`${excerpt(name)}\` to that model.`
      throw new GatewayError("model_not_allowed", `This API key may not call \`${model.id}\`.${why}`, { param })
    }
    if (!this.kinds.includes(model.kind)) throw otherKind(model, param)
    if (mapped !== undefined) this.mapped = [...(this.mapped ?? []), { from: name, to: model.id }]
    return model
  }

  private unknown({ name, param }: NamedModel, mappedFrom: string | undefined): GatewayError {
    const { caller, protocol, modelsPath } = this.call
    const advice =
      adviseVariant(name, { catalog: this.table.catalog, scope: caller.models }) ??
      suggestCallable(name, this.table, { caller, over: [protocol.id] })
    const sentences = [
      `There is no model \`${excerpt(name)}\`.`,
      ...(mappedFrom === undefined ? [] : [`This key's model map maps \`${excerpt(mappedFrom)}\` to it.`]),
      ...(advice === "" ? [] : [advice]),
      `GET ${modelsPath} lists the models this key can call.`,
    ]
    return new GatewayError("model_not_found", sentences.join(" "), { param })
  }
}

const ENDPOINTS: Readonly<Record<CatalogModel["kind"], string>> = {
  chat: "a chat model: call it with messages",
  embedding: "an embedding model: call it at /v1/embeddings",
  image: "an image model: call it at /v1/images/generations",
  moderation: "a moderation model: call it at /v1/moderations",
}

function otherKind({ id, kind }: CatalogModel, param: string): GatewayError {
  return new GatewayError("invalid_parameter", `\`${id}\` is ${ENDPOINTS[kind]}.`, { param })
}
