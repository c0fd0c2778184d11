// HTTP client for a gateway's administration port.
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"
import type { Secret } from "../config/secret.ts"

export class AdminClient {
  constructor(
    private readonly url: string,
    private readonly key: Secret,
  ) {}

  get(path: string): Promise<JsonObject> {
    return this.call("GET", path)
  }

  post(path: string, body?: Json): Promise<JsonObject> {
    return this.call("POST", path, body)
  }

  patch(path: string, body: Json): Promise<JsonObject> {
    return this.call("PATCH", path, body)
  }

  put(path: string, body: Json): Promise<JsonObject> {
    return this.call("PUT", path, body)
  }

  delete(path: string): Promise<JsonObject> {
    return this.call("DELETE", path)
  }

  private async call(method: string, path: string, body?: Json): Promise<JsonObject> {
    const headers = { authorization: `Bearer ${this.key.reveal()}`, "content-type": "application/json" }
    const sent = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) }
    const response = await fetch(`${this.url}/admin/v1${path}`, sent).catch(() => undefined)
    if (!response)
      throw new Error(
        `The administration server at ${this.url} does not respond. Check that the gateway is running and the address is right.`,
      )
    const answer: unknown = await response.json().catch(() => undefined)
    if (!isObject(answer))
      throw new Error(`The server at ${this.url} is not a gateway's administration server. Check the address.`)
    // A slow response sends its status before the result is known.
    const message = messageIn(answer)
    if (message !== undefined) throw new Error(message)
    if (!response.ok) throw new Error(`${this.url} answered with status ${response.status}.`)
    return answer
  }
}

function messageIn({ error }: JsonObject): string | undefined {
  return isObject(error) && typeof error.message === "string" ? error.message : undefined
}
