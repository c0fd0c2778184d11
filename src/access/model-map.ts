// The model map of a key: names that a client has built in, and the models that replace them.
import { excerpt, GatewayError } from "../canonical/gateway-error.ts"
import type { ModelNameMapping } from "../store/contract.ts"
import { matchesPattern } from "./scope.ts"

export const MAX_MAPPINGS = 100

/** The replacement for a model's name; undefined if no mapping matches. The first match counts. */
export function mapModelName(map: readonly ModelNameMapping[] | null, name: string): string | undefined {
  if (map === null) return undefined
  const lower = name.toLowerCase()
  return map.find(({ from }) => matchesPattern(from.toLowerCase(), lower))?.to
}

/** Refuses an invalid map. */
export function checkModelMap(map: readonly ModelNameMapping[]): void {
  if (map.length > MAX_MAPPINGS) throw modelMapError(`has ${map.length} entries; at most ${MAX_MAPPINGS} are allowed`)
  for (const { from, to } of map) {
    if (from.trim() !== from || from === "")
      throw modelMapError("has an entry whose `from` is empty or begins or ends with a space")
    if (to.trim() !== to || to === "" || to.includes("*")) {
      throw modelMapError(
        `maps "${excerpt(from)}" to "${excerpt(to)}"; \`to\` must name one model, such as google/gemini-2.5-flash`,
      )
    }
  }
}

function modelMapError(what: string): GatewayError {
  return new GatewayError("invalid_parameter", `\`model_map\` ${what}.`, { param: "model_map" })
}
