// Checks a moderations request and reads the members that the gateway needs.
import type { Json, JsonObject } from "../../../canonical/json.ts"
import { fieldMismatch, runFieldChecks } from "../../../canonical/schema/field-mismatch.ts"
import type { RequestSummary } from "../../contract.ts"
import { arrayOf, object, oneOf, required, string } from "../../field-checks.ts"
import { readModelChoice, summarizeUnaryRequest } from "../../gateway-extension.ts"

/** OpenAI's default model. */
const USUAL_MODEL = "omni-moderation-latest"

export function readRequest(body: JsonObject): RequestSummary {
  return runFieldChecks(() => {
    const { model, routing } = readModelChoice(body, { usual: USUAL_MODEL })
    input(body.input)
    const outputLimits = { maxOutputTokens: 0, candidates: 1 }
    return summarizeUnaryRequest({ operation: "moderations", model, routing, outputLimits })
  })
}

const type = required("type", oneOf(["text", "image_url"]))
const text = required("text", string)
const url = required("url", string)
const image = required("image_url", (value) => url(object(value).url))
const parts = arrayOf((value) => {
  const part = object(value)
  if (type(part.type) === "text") text(part.text)
  else image(part.image_url)
})

const input = required("input", (value) => {
  if (typeof value === "string") return
  if (!Array.isArray(value) || value.length === 0)
    throw fieldMismatch("a string, an array of strings or an array of parts, and not empty")
  if (!value.every(isText)) parts(value)
})

function isText(value: Json): boolean {
  return typeof value === "string"
}
