// Calls the simulator in process as the gateway does, and reads an answer up to its break.

import { createSimulator, type SimulatedSend } from "../../src/simulator/simulator.ts"
import { Abort } from "../../src/transport/abort.ts"
import type { SimulatorQuestion } from "./simulated-protocols.ts"

export interface CallOptions {
  readonly words?: string
  readonly send?: SimulatedSend
  readonly abort?: Abort
}

export function simulated({ path, body }: SimulatorQuestion, options: CallOptions = {}): Promise<Response> {
  const { words, send = createSimulator(), abort = new Abort() } = options
  const headers = new Headers(words === undefined ? {} : { "x-simulate": words })
  return send({ url: `https://upstream.example${path}`, headers, body: JSON.stringify(body), abort })
}

export interface ReadStream {
  /** Each read by itself. */
  readonly chunks: readonly string[]
  readonly text: string
  /** The error of the reading. */
  readonly failure: unknown
}

export async function readStream(response: Response): Promise<ReadStream> {
  const chunks: string[] = []
  let failure: unknown
  try {
    for await (const bytes of response.body ?? []) chunks.push(Buffer.from(bytes).toString("latin1"))
  } catch (thrown) {
    failure = thrown
  }
  return { chunks, text: chunks.join(""), failure }
}

/** The JSON of every event or element, `[DONE]` and what is not JSON left out. */
export function eventsIn(text: string): Record<string, unknown>[] {
  const lines = text.split(/\r?\n/).map((line) => line.replace(/^data: /, "").replace(/^[[,]+|,$/g, ""))
  return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))
}
