// Answers that are made while they are read: one chunk per pull, none before it.
import type { Json, JsonObject } from "../canonical/json.ts"
import { encodeSse } from "../transport/sse.ts"
import type { SimulatedCall } from "./call.ts"

/** Server-sent events; `named` puts each event's own type on its `event:` line. */
export function eventStream(
  events: Iterable<JsonObject>,
  { signal, named = false, last }: { signal: SimulatedCall["signal"]; named?: boolean; last?: string },
): Response {
  return streamed(encoded(events, { named, last }), { signal, contentType: "text/event-stream" })
}

/** One JSON array, streamed element by element. */
export function arrayStream(elements: Iterable<Json>, { signal }: Pick<SimulatedCall, "signal">): Response {
  return streamed(arrayText(elements), { signal, contentType: "application/json; charset=UTF-8" })
}

function* encoded(
  events: Iterable<JsonObject>,
  { named, last }: { named: boolean; last: string | undefined },
): Generator<string> {
  for (const event of events) {
    yield encodeSse({ data: JSON.stringify(event), ...(named && { event: String(event.type) }) })
  }
  if (last !== undefined) yield encodeSse({ data: last })
}

function* arrayText(elements: Iterable<Json>): Generator<string> {
  let before = "["
  for (const element of elements) {
    yield before + JSON.stringify(element)
    before = ",\r\n"
  }
  yield before === "[" ? "[]" : "\n]\n"
}

function streamed(
  chunks: Generator<string>,
  { signal, contentType }: { signal: AbortSignal; contentType: string },
): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = chunks.next()
      if (signal.aborted) controller.error(signal.reason)
      else if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
  })
  return new Response(body, { headers: { "content-type": contentType } })
}

/** One of each in turn, until all have ended: how several candidates arrive at once. */
export function* interleaved<Item>(rows: readonly Generator<Item>[]): Generator<Item> {
  let running = rows
  while (running.length > 0) {
    const still: Generator<Item>[] = []
    for (const row of running) {
      const { done, value } = row.next()
      if (done) continue
      yield value
      still.push(row)
    }
    running = still
  }
}
