// Checks a request for images and reads the few members the gateway acts on.
import { GatewayError } from "../../canonical/error.ts"
import type { JsonObject } from "../../canonical/json.ts"
import { boolean, checked, integer, nonEmptyString, oneOf, optional, required, string } from "../check.ts"
import type { Reading } from "../contract.ts"
import { readRouting, refuseDestinations, wholeAnswer } from "../extension.ts"

export function readRequest(body: JsonObject): Reading {
  return checked(() => {
    refuseDestinations(body)
    const named = model(body.model)
    prompt(body.prompt)
    const asks = { candidates: count(body.n) ?? 1 }
    size(body.size)
    quality(body.quality)
    responseFormat(body.response_format)
    if (stream(body.stream)) throw streamed()
    return wholeAnswer({ operation: "images", model: named, routing: readRouting(body.provider), asks })
  })
}

const model = required("model", nonEmptyString)
const prompt = required("prompt", nonEmptyString)
const count = optional("n", integer({ min: 1 }))
const size = optional("size", string)
const quality = optional("quality", string)
const responseFormat = optional("response_format", oneOf(["url", "b64_json"]))
const stream = optional("stream", boolean)

function streamed(): GatewayError {
  const message = "`stream` is not supported for images: they come whole. Leave it out."
  return new GatewayError("unsupported_parameter", message, { param: "stream" })
}
