// Maps a codec's path to the path of the same member in the caller's own body.
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { CONVERSATION_MEMBERS } from "../../protocols/request-members.ts"

/**
 * The path as far as it leads into the body. A member one level deeper than its path, such as a function's `strict`
 * in chat completions, is found there.
 */
export function findBodyPath(body: JsonObject, path: string): string {
  const [head = "", ...steps] = path.match(/[^.[\]]+|\[\d+\]/g) ?? []
  const first = CONVERSATION_MEMBERS.includes(head) ? (CONVERSATION_MEMBERS.find((name) => name in body) ?? head) : head
  let at: Json | undefined = memberOf(body, first)
  if (at === undefined) return steps.length === 0 ? first : path
  let found = first
  for (const step of steps) {
    const next = stepInto(at, step)
    if (!next) break
    found += next.path
    at = next.value
  }
  return found
}

interface BodyPathStep {
  readonly path: string
  readonly value: Json
}

function stepInto(at: Json, step: string): BodyPathStep | undefined {
  if (step.startsWith("[")) {
    const value = Array.isArray(at) ? at[Number(step.slice(1, -1))] : undefined
    return value === undefined ? undefined : { path: step, value }
  }
  const value = memberOf(at, step)
  if (value !== undefined) return { path: `.${step}`, value }
  const inner = isObject(at) ? Object.entries(at).find(([, held]) => memberOf(held, step) !== undefined) : undefined
  const deeper = inner && memberOf(inner[1], step)
  return inner && deeper !== undefined ? { path: `.${inner[0]}.${step}`, value: deeper } : undefined
}

/** Some protocols accept two spellings of each member. */
function memberOf(object: Json, name: string): Json | undefined {
  if (!isObject(object)) return undefined
  if (Object.hasOwn(object, name)) return object[name]
  const other = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return Object.hasOwn(object, other) ? object[other] : undefined
}
