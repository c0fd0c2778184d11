// Calls a simulator as the gateway would, and reads whole answers.

import type { Json, JsonObject } from "../canonical/json.ts"
import { Abort } from "../transport/abort.ts"
import { createSimulator, type SimulatedSend } from "./simulator.ts"

export function call(path: string, body: Json | string, send: SimulatedSend = createSimulator()): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body)
  return send({ url: `simulator:${path}`, headers: new Headers(), body: text, abort: new Abort() })
}

export async function json<Answer>(path: string, body: Json, send?: SimulatedSend): Promise<Answer> {
  return (await (await call(path, body, send)).json()) as Answer
}

export interface SentEvent<Data> {
  readonly event: string | undefined
  /** Undefined for `[DONE]`. */
  readonly data: Data | undefined
}

export async function events<Data>(path: string, body: JsonObject, send?: SimulatedSend): Promise<SentEvent<Data>[]> {
  const text = await (await call(path, body, send)).text()
  return text
    .split("\n\n")
    .filter((frame) => frame !== "")
    .map((frame) => {
      const { event, data = "" } = /^(?:event: (?<event>.*)\n)?data: (?<data>.*)$/.exec(frame)?.groups ?? {}
      return { event, data: data === "[DONE]" ? undefined : JSON.parse(data) }
    })
}

export const weatherTool = {
  name: "get_weather",
  description: "Current weather in a city.",
  schema: {
    type: "object",
    properties: { city: { type: "string" }, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
    required: ["city"],
    additionalProperties: false,
  },
}
export const clockTool = { name: "read_clock", description: "The time.", schema: { type: "object", properties: {} } }
export const weatherInput = { city: "simulated city", unit: "celsius" }

/** Distinct words. */
export function words(count: number): string {
  return Array.from({ length: count }, (_, at) => `word${at}`).join(" ")
}
