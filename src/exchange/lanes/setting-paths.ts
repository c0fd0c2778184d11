// Reports losses and rejections of embedding and image requests with the caller's own member names.
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { Loss } from "../../canonical/loss.ts"

/** Where the caller's protocol has what we call so. */
type SettingPathMap = Readonly<Partial<Record<string, string>>>

/** A loss that occurs in every call is reported once. */
export function lossesAtSettingPaths(losses: readonly Loss[], places: SettingPathMap): Loss[] {
  const byPath = new Map<string, Loss>()
  for (const loss of losses) {
    const key = `${loss.path}\n${loss.why}`
    if (!byPath.has(key)) byPath.set(key, { ...loss, path: settingPathOf(loss.path, places) })
  }
  return [...byPath.values()]
}

export function errorAtSettingPath(error: GatewayError, places: SettingPathMap): GatewayError {
  const { code, message, owner, param } = error
  if (param === undefined) return error
  const place = settingPathOf(param, places)
  return new GatewayError(code, message.replaceAll(`\`${param}\``, `\`${place}\``), { owner, param: place })
}

function settingPathOf(name: string, places: SettingPathMap): string {
  return Object.hasOwn(places, name) ? (places[name] ?? name) : name
}
