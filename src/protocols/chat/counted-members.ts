// Shared by protocols with token counting: the members of a request that are counted, and the count in the response.
import type { Json } from "../../canonical/json.ts"
import { outlineJson } from "../../transport/json/json-scan.ts"
import { asciiJson, spliceJson } from "../../transport/json/json-splice.ts"

/** The request in byte text, for this model, without other members: upstreams refuse members that they do not count. */
export function keepCountedMembers(
  text: string,
  { model, names }: { model: string; names: readonly string[] },
): string {
  const outlined = outlineJson(text)
  if (!outlined) throw new Error("a codec writes one object")
  const others = outlined.members.filter(({ name }) => !names.includes(name))
  const removals = others.map(({ name }) => ({ path: [name], remove: true }) as const)
  return spliceJson(text, [...removals, { path: ["model"], set: asciiJson(model) }], outlined)
}

export function readTokenNumber(value: Json | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
