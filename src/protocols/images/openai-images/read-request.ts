// Checks a request for images and reads the members that the gateway needs.

import { GatewayError } from "../../../canonical/gateway-error.ts"
import type { ImageForm } from "../../../canonical/image.ts"
import type { Json, JsonObject } from "../../../canonical/json.ts"
import { runFieldChecks } from "../../../canonical/schema/field-mismatch.ts"
import { imagesMembers } from "../../body-schemas.ts"
import type { RequestEnvelope, RequestSummary } from "../../contract.ts"
import { boolean, nonEmptyString, optional, required, string } from "../../field-checks.ts"
import { readIdentifiers, readModelChoice, summarizeUnaryRequest } from "../../gateway-extension.ts"

/** A request may name no model: then the operator's choice is used. */
const OPERATORS_CHOICE = ""

export function readRequest(body: JsonObject, envelope?: Pick<RequestEnvelope, "rest">): RequestSummary {
  return runFieldChecks(() => {
    const { model, routing } = readModelChoice(body, { usual: OPERATORS_CHOICE, rest: envelope?.rest })
    const identifiers = readIdentifiers(body, ["user"])
    prompt(body.prompt)
    const outputLimits = { candidates: count(body.n) ?? 1 }
    size(body.size)
    quality(body.quality)
    const choosesForm = responseFormat(body.response_format) !== undefined
    outputFormat(body.output_format)
    outputCompression(body.output_compression)
    background(body.background)
    user(body.user)
    if (stream(body.stream)) throw streamingUnsupported()
    const reading = summarizeUnaryRequest({ operation: "images", model, routing, outputLimits, identifiers })
    return choosesForm ? { ...reading, draws: { choosesForm } } : reading
  })
}

/** The form of the images, from a validated value. */
export function formOf(word: Json | undefined): ImageForm | undefined {
  if (word === undefined) return undefined
  return word === "url" ? "url" : "bytes"
}

const prompt = required("prompt", nonEmptyString)
const count = optional("n", imagesMembers.n.read)
const size = optional("size", string)
const quality = optional("quality", string)
const responseFormat = optional("response_format", imagesMembers.response_format.read)
const outputFormat = optional("output_format", string)
const outputCompression = optional("output_compression", imagesMembers.output_compression.read)
const background = optional("background", string)
const user = optional("user", string)
const stream = optional("stream", boolean)

function streamingUnsupported(): GatewayError {
  const message = "`stream` is not supported for images. Leave it out."
  return new GatewayError("unsupported_parameter", message, { param: "stream" })
}
