// Calls an upstream: no redirects, no compression, bounded answers, a limit on connecting, and errors with a reason.

interface Outgoing {
  readonly url: string
  readonly headers: Headers
  readonly body: string | Uint8Array<ArrayBuffer>
  /** Ends the call and the reading of its answer; both then fail with the reason given. */
  readonly abort: AbortController
}

/** How an upstream is called: over the network, or in this process by the simulator. */
export type Send = (outgoing: Outgoing) => Promise<Response>

export type TransportFault = "connect" | "connect-timeout" | "reset" | "too-large"

export class TransportError extends Error {
  override readonly name = "TransportError"
  constructor(
    readonly fault: TransportFault,
    cause?: unknown,
  ) {
    super(`upstream ${fault}`, { cause })
  }
}

/** Over the network. What goes wrong is told by `failure`. */
export const httpSend: Send = ({ url, headers, body, abort }) =>
  fetch(url, { method: "POST", headers, body, signal: abort.signal, redirect: "manual" })

/** All of an answer's bytes; rejects once there are more than `maxBytes`. What goes wrong is told by `failure`. */
export function readAll(response: Response, maxBytes: number): Promise<ArrayBuffer> {
  const { headers } = response
  const length = headers.get("content-length")
  // A compressed answer unpacks to more than it announces.
  if (length === null || headers.has("content-encoding")) return readBounded(response, maxBytes)
  if (Number(length) > maxBytes) return Promise.reject(new TransportError("too-large"))
  return response.arrayBuffer()
}

/** Why a call failed: the reason it was aborted with, where it was; else what was met on the wire. */
export function failure(thrown: unknown, abort: AbortController): unknown {
  if (abort.signal.aborted) return abort.signal.reason
  return thrown instanceof TransportError ? thrown : new TransportError(faultOf(thrown), thrown)
}

async function readBounded(response: Response, maxBytes: number): Promise<ArrayBuffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength
    if (length > maxBytes) throw new TransportError("too-large")
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks, length)).buffer
}

const CONNECT_CODES = new Set([
  "ConnectionRefused",
  "ECONNREFUSED",
  "FailedToOpenSocket",
  "ENOTFOUND",
  "DNSLookupFailed",
])

function faultOf(thrown: unknown): TransportFault {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : ""
  return CONNECT_CODES.has(code) ? "connect" : "reset"
}

const PROBE_MS = 5000

/** The status a GET is answered with; undefined when nobody answers. */
export async function probe(url: string, headers: Headers): Promise<number | undefined> {
  try {
    const response = await fetch(url, { headers, redirect: "manual", signal: AbortSignal.timeout(PROBE_MS) })
    await response.body?.cancel()
    return response.status
  } catch {
    return undefined
  }
}
