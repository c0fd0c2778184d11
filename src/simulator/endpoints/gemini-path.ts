// Finds the model in Google's paths.
import { type SimulatorDirectives, splitModelName } from "../directives.ts"

/** Some client libraries omit `models/` before a name with a slash. */
export function modelOf(path: string): string {
  const named = path.slice(0, path.lastIndexOf(":"))
  const name = (/\/models\/(.+)$/.exec(named) ?? /\/v1(?:beta\d*)?\/(.+)$/.exec(named))?.[1] ?? named.slice(1)
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Splits the directives off the model in a path; undefined if the path names no model. */
export function splitPath(path: string): { path: string; directives: SimulatorDirectives } | undefined {
  const colon = path.lastIndexOf(":")
  if (colon < path.lastIndexOf("/")) return undefined
  const { name, directives } = splitModelName(path.slice(0, colon).replaceAll("%40", "@"))
  return { path: name + path.slice(colon), directives }
}
