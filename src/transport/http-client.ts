// Calls an upstream: no redirects, no compression, bounded answers, a limit on connecting, and errors with a reason.
import { ConnectWatch, type Waiting } from "./connect-watch.ts"

interface Outgoing {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array<ArrayBuffer>
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

/** Where a proxy stands between, the upstream need not be reachable from here, and nothing is concluded from that. */
const proxied = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"].some((name) => process.env[name])

export function httpClient({ connectTimeoutMs }: { connectTimeoutMs: number }): Send {
  const watch = proxied ? undefined : new ConnectWatch(connectTimeoutMs)
  return async ({ url, headers, body, abort }) => {
    const onUnreachable = () => abort.abort(new TransportError("connect-timeout"))
    const waiting: Waiting = { place: -1, url, since: performance.now(), onUnreachable, probed: false }
    watch?.enter(waiting)
    try {
      return await fetch(url, { method: "POST", headers, body, signal: abort.signal, redirect: "manual" })
    } catch (thrown) {
      throw failure(thrown, { abort, fault: faultOf(thrown) })
    } finally {
      watch?.leave(waiting)
    }
  }
}

/** All of an answer's bytes, or an error once there are more than `maxBytes`. */
export async function readAll(
  response: Response,
  { maxBytes, abort }: { maxBytes: number; abort: AbortController },
): Promise<Uint8Array> {
  const { headers } = response
  // A compressed answer unpacks to more than it announces.
  const announced = headers.has("content-encoding") ? Number.NaN : Number(headers.get("content-length") ?? Number.NaN)
  if (announced > maxBytes) throw new TransportError("too-large")
  try {
    if (announced <= maxBytes) return new Uint8Array(await response.arrayBuffer())
    return await readBounded(response, maxBytes)
  } catch (thrown) {
    throw failure(thrown, { abort, fault: "reset" })
  }
}

/** The reason the call was aborted with, where it was; else what was met on the wire. */
export function failure(thrown: unknown, { abort, fault }: { abort: AbortController; fault: TransportFault }): unknown {
  if (abort.signal.aborted) return abort.signal.reason
  return thrown instanceof TransportError ? thrown : new TransportError(fault, thrown)
}

async function readBounded(response: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength
    if (length > maxBytes) throw new TransportError("too-large")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
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
export async function probe(url: string, headers: Record<string, string>): Promise<number | undefined> {
  try {
    const response = await fetch(url, { headers, redirect: "manual", signal: AbortSignal.timeout(PROBE_MS) })
    await response.body?.cancel()
    return response.status
  } catch {
    return undefined
  }
}
