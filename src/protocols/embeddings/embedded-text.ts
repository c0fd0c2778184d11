// Inputs for wires that accept only text, and reports of members that these cannot express.
import type { EmbeddingBatch, EmbeddingContent, EmbeddingTask } from "../../canonical/embedding.ts"
import { GatewayError } from "../../canonical/gateway-error.ts"
import { isObject } from "../../canonical/json.ts"
import type { Losses } from "../../canonical/loss.ts"
import { type PassthroughFields, presentFieldNames } from "../../canonical/passthrough-fields.ts"
import { approximated, dropped } from "../losses.ts"

/** The text of each input; throws if one is not text. */
export function textsOf({ inputs }: EmbeddingBatch, losses: Losses): string[] {
  return inputs.map(({ content }) => textOf(content, losses))
}

export function textOf(content: EmbeddingContent, losses: Losses): string {
  if (content.kind === "text") return content.text
  if (content.kind === "tokens") {
    throw unsupportedEmbeddingInput("holds token ids, and this model's provider accepts only text. Send the text")
  }
  const texts = content.parts.map((part) => (isObject(part) && typeof part.text === "string" ? part.text : undefined))
  if (texts.includes(undefined)) {
    throw unsupportedEmbeddingInput(
      "holds more than text, and this model's provider accepts only text. Leave the rest out",
    )
  }
  losses.push(approximated.hint("input", "several parts are embedded as one text, one line each"))
  return texts.join("\n")
}

function unsupportedEmbeddingInput(why: string): GatewayError {
  return new GatewayError("unsupported_parameter", `\`input\` ${why}.`, { param: "input" })
}

type EmbeddedRequest = Pick<EmbeddingBatch, "inputs"> & { readonly extra?: PassthroughFields | undefined }

/** Reports members of another protocol's request other than the settings. */
export function reportEmbeddingExtra(
  { extra, inputs }: EmbeddedRequest,
  { losses, to }: { losses: Losses; to: string },
): void {
  const names = [extra, ...inputs.map((input) => input.extra)].flatMap((each) => (each ? presentFieldNames(each) : []))
  for (const name of new Set(names)) losses.push(dropped.hint(name, `${to} has no such member`))
}

/** A wire's values for tasks; marked ones are approximations. */
export type TaskWords = { readonly [Task in EmbeddingTask]?: string | { readonly near: string } }

export function taskWord(words: TaskWords, { task, losses }: { task?: EmbeddingTask | undefined; losses: Losses }) {
  const word = task && words[task]
  if (task === undefined || typeof word === "string") return word
  if (!word) {
    losses.push(dropped.meaning("task", `there is no task type for ${task}`))
    return undefined
  }
  losses.push(approximated.meaning("task", `${task} is sent as ${word.near}`))
  return word.near
}
