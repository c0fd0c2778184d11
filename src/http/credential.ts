// The API key a request carries. Two of them, or a header sent twice, is a mistake and not a choice for us to make.
import { GatewayError } from "../canonical/error.ts"

export function presentedKey(headers: Headers): string {
  const authorization = headers.get("authorization")
  if (authorization === null) {
    const message = "No API key was sent. Send it in the header `Authorization: Bearer YOUR_KEY`."
    throw new GatewayError("missing_api_key", message)
  }
  // Bun joins a header that came twice with a comma.
  if (authorization.includes(",")) {
    throw new GatewayError("invalid_parameter", "The header `Authorization` was sent more than once.")
  }
  const key = /^bearer /i.test(authorization) ? authorization.slice("Bearer ".length).trim() : ""
  if (key === "" || /\s/.test(key)) {
    const message = "The header `Authorization` must have the form `Bearer YOUR_KEY`."
    throw new GatewayError("invalid_api_key", message)
  }
  return key
}
