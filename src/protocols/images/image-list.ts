// The image list of OpenAI and compatible hosts, and reports of members that other hosts cannot express.

import { type DrawnImage, imageAt, inlineImage } from "../../canonical/image.ts"
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { Losses } from "../../canonical/loss.ts"
import { type PassthroughFields, presentFieldNames } from "../../canonical/passthrough-fields.ts"
import { dropped } from "../losses.ts"

/** Undefined if it is not such a list. */
export function readImageList({ data }: JsonObject): DrawnImage[] | undefined {
  if (!Array.isArray(data)) return undefined
  return (data as readonly Json[]).flatMap((entry) => {
    const source = isObject(entry) ? sourceOf(entry) : undefined
    if (!isObject(entry) || !source) return []
    const { revised_prompt: revised } = entry
    return [{ source, ...(typeof revised === "string" && revised !== "" && { revisedPrompt: revised }) }]
  })
}

function sourceOf({ b64_json, url }: JsonObject) {
  if (typeof b64_json === "string" && b64_json !== "") return inlineImage(b64_json)
  return typeof url === "string" && url !== "" ? imageAt(url) : undefined
}

/** Reports members of another wire's request other than the settings. */
export function reportImageExtra(
  extra: PassthroughFields | undefined,
  { losses, to }: { losses: Losses; to: string },
): void {
  for (const name of extra ? presentFieldNames(extra) : []) losses.push(dropped.hint(name, `${to} has no such member`))
}
