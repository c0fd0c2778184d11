// A response that may take longer than the idle timeout: spaces are sent until it is ready, because JSON may begin with
// any number of them.
import { setTimeout } from "node:timers/promises"
import type { ResponseHeaderFields } from "../canonical/response-headers.ts"

/** Well below the 10 s after which a silent connection is closed. */
const SPACE_EVERY_MS = 3000

/** A fast result is sent as it is. A slow one has status 200, and its body reports a failure. */
export async function answerWithKeepAlive(answer: Promise<Response>, everyMs = SPACE_EVERY_MS): Promise<Response> {
  const soon = await atMost(answer, everyMs)
  if (soon) return soon
  const headers: ResponseHeaderFields = { "content-type": "application/json", "cache-control": "no-store" }
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

/** Undefined if it takes longer. */
async function atMost(answer: Promise<Response>, ms: number): Promise<Response | undefined> {
  const waiting = new AbortController()
  const late = setTimeout(ms, undefined, { signal: waiting.signal }).catch(() => undefined)
  try {
    return await Promise.race([answer, late])
  } finally {
    waiting.abort()
  }
}
