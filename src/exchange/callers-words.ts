// What is lost or refused on the way to another wire, told by the names the caller wrote: for requests that are no
// conversation.
import { GatewayError } from "../canonical/error.ts"
import type { Loss } from "../canonical/loss.ts"

/** Where the caller's protocol has what we call so. */
type Places = Readonly<Partial<Record<string, string>>>

/** What is lost in every call is told once. */
export function lossesInCallersWords(losses: readonly Loss[], places: Places): Loss[] {
  const told = new Map<string, Loss>()
  for (const loss of losses) {
    const key = `${loss.path}\n${loss.why}`
    if (!told.has(key)) told.set(key, { ...loss, path: placeOf(loss.path, places) })
  }
  return [...told.values()]
}

export function refusalInCallersWords(error: GatewayError, places: Places): GatewayError {
  const { code, message, owner, param } = error
  if (param === undefined) return error
  const place = placeOf(param, places)
  return new GatewayError(code, message.replaceAll(`\`${param}\``, `\`${place}\``), { owner, param: place })
}

function placeOf(name: string, places: Places): string {
  return Object.hasOwn(places, name) ? (places[name] ?? name) : name
}
