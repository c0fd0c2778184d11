// An answer that takes longer than a silent connection is kept open: spaces go out until it is there, for JSON may begin
// with any number of them.
import { setTimeout } from "node:timers/promises"

/** Well below the 10 s after which a silent connection is closed. */
const SPACE_EVERY_MS = 3000

/** What is there soon goes out as it is. Later the status is 200, and the body tells whether it failed. */
export async function answerWithKeepAlive(answer: Promise<Response>, everyMs = SPACE_EVERY_MS): Promise<Response> {
  const soon = await atMost(answer, everyMs)
  if (soon) return soon
  const headers = { "content-type": "application/json", "cache-control": "no-store" }
  return new Response(streamSpacesUntil(answer, everyMs), { headers })
}

function streamSpacesUntil(answer: Promise<Response>, everyMs: number): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const whole = await atMost(answer, everyMs)
      controller.enqueue(whole ? await whole.bytes() : new Uint8Array([0x20]))
      if (whole) controller.close()
    },
  })
}

/** Undefined where it takes longer. */
async function atMost(answer: Promise<Response>, ms: number): Promise<Response | undefined> {
  const waiting = new AbortController()
  const late = setTimeout(ms, undefined, { signal: waiting.signal }).catch(() => undefined)
  try {
    return await Promise.race([answer, late])
  } finally {
    waiting.abort()
  }
}
