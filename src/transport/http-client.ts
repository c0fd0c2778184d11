// Calls an upstream: no redirects, no compression, bounded answers, a limit on connecting, and errors with a reason.
import type { Abort } from "./abort.ts"
import { decompressResponse } from "./decompress-response.ts"
import { waitFullTurn } from "./event-loop/wait-full-turn.ts"
import { HttpPool, type PoolOptions } from "./http-pool.ts"
import type { UpstreamResponse } from "./http-response.ts"
import { fromByteText } from "./json/byte-text.ts"
import { PacedBody } from "./paced-body.ts"
import type { ResendAllowance } from "./resend-allowance.ts"
import { TransportError, type TransportFault } from "./transport-error.ts"

export interface UpstreamRequest {
  /** POST by default. The body of a GET is empty. */
  readonly method?: "GET" | "PUT" | "POST"
  readonly url: string
  readonly headers: Headers
  /** Text is ASCII. */
  readonly body: string | Uint8Array<ArrayBuffer>
  /** Ends the call and the reading of its answer; both then fail with the reason given. */
  readonly abort: Abort
  /** How long it may take until the host has accepted a connection, and proved its name. */
  readonly connectMs?: number
  /** Who it is made for. Connections are kept apart by it; absent, it is for the gateway itself. */
  readonly owner?: string
  /** What calls of the same exchange may be sent again; absent, this one may once. */
  readonly resends?: ResendAllowance | undefined
}

/** How an upstream is called: over the network, or in this process by the simulator. */
export type SendRequest = (outgoing: UpstreamRequest) => Promise<UpstreamResponse>

/** Over the network, for the gateway's own calls. `failure` explains errors. */
export const httpSend: SendRequest = networkSend()

/** Over the network, with connections of its own; through the proxy that the environment names, where it names one. */
export function networkSend(options: Pick<PoolOptions, "isolation"> = {}): SendRequest {
  return isProxied() ? fetchSend : httpSender(options)
}

/** Bun's own client supports proxies; ours costs less and buffers no more than is read. */
function isProxied(): boolean {
  return ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"].some((name) => process.env[name])
}

/** Its connections know no owners, so that none is used again. */
async function fetchSend({ method = "POST", url, headers, body, abort }: UpstreamRequest): Promise<UpstreamResponse> {
  const wishes = { method, redirect: "manual", keepalive: false } as const
  const content = method === "GET" ? {} : { body }
  const answer = await fetch(url, { ...wishes, headers, ...content, signal: abort.signal })
  const { status, ok, headers: answered } = answer
  return { status, ok, headers: answered, body: answer.body && new PacedBody(answer.body) }
}

const CONNECT_MS = 5000
/** The gateway itself. */
const NO_OWNER = ""

/** A client with connections of its own, whatever the environment says. */
export function httpSender(options: PoolOptions = {}): SendRequest {
  const hosts = new HostPools(options)
  return (outgoing) => poolSend(outgoing, hosts)
}

async function poolSend(outgoing: UpstreamRequest, hosts: HostPools): Promise<UpstreamResponse> {
  const { url, abort, connectMs = CONNECT_MS, owner = NO_OWNER, resends } = outgoing
  if (abort.aborted) throw abort.reason
  const { host, path } = hosts.addressOf(url)
  const { pool } = host
  if (bodyLength(outgoing) > LARGE_BODY_LENGTH) await waitFullTurn()
  const pieces = requestPieces(outgoing, host, path)
  const wish = { owner, connectMs, abort }
  const taken = pool.takeOwn(owner) ?? pool.takeOver(wish)
  const reused = taken instanceof Promise ? await taken : taken
  const connection = reused ?? (await pool.open(wish))
  let answer = connection.request(pieces)
  answer.connectMs = connection === reused ? 0 : connection.connectedInMs
  abort.onAbort = () => answer.abandon(abort.reason)
  try {
    await answer.arrived
  } catch (thrown) {
    const isLost = !abort.aborted && connection === reused && connection.lostRequest
    if (!isLost || resends?.take() === false) throw thrown
    const fresh = await pool.open(wish)
    answer = fresh.request(pieces)
    answer.connectMs = fresh.connectedInMs
    abort.onAbort = () => answer.abandon(abort.reason)
    await answer.arrived
  }
  return answer.headers.has("content-encoding") ? decompressResponse(answer) : answer
}

interface PooledHost {
  readonly pool: HttpPool
  readonly name: string
}

class HostPools {
  private readonly known = new Map<string, PooledHost>()

  constructor(private readonly options: PoolOptions) {}

  /** Most calls go to few origins. */
  addressOf(url: string): { host: PooledHost; path: string } {
    const slash = url.indexOf("/", "https://".length)
    const origin = slash < 0 ? url : url.slice(0, slash)
    const path = slash < 0 ? "/" : url.slice(slash)
    const host = this.known.get(origin) ?? this.open(origin)
    // What may not stand in a request line is written as a browser would.
    return { host, path: /^[\x21-\x7e]+$/.test(path) && !path.includes("#") ? path : requestTarget(url) }
  }

  private open(origin: string): PooledHost {
    const { hostname, port, protocol, host: name } = new URL(origin)
    const tls = protocol === "https:"
    const at = { hostname: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || (tls ? 443 : 80), tls }
    const host = { pool: new HttpPool(at, this.options), name }
    this.known.set(origin, host)
    return host
  }
}

function requestTarget(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}

/** The lines of headers that are used again and again. */
const headerTexts = new WeakMap<Headers, string>()

/** A small body goes with its head in one piece; a large one is not copied for that. */
const SMALL_BODY_LENGTH = 64 * 1024
/** To make bytes of a body beyond this takes milliseconds: others have their turn before. */
const LARGE_BODY_LENGTH = 1024 * 1024

function bodyLength({ body }: UpstreamRequest): number {
  return typeof body === "string" ? body.length : body.byteLength
}

function requestPieces(outgoing: UpstreamRequest, { name }: PooledHost, path: string): (string | Uint8Array)[] {
  const { method = "POST", headers, body } = outgoing
  let lines = headerTexts.get(headers)
  if (lines === undefined) {
    lines = [...headers].map(([header, value]) => `${header}: ${value}\r\n`).join("")
    headerTexts.set(headers, lines)
  }
  const length = bodyLength(outgoing)
  const framing = method === "GET" ? "" : `content-length: ${length}\r\n`
  const head = `${method} ${path} HTTP/1.1\r\nhost: ${name}\r\n${lines}${framing}\r\n`
  // The kernel takes a large one in many turns: of bytes the rest is a view, of text it would be a copy.
  if (length > SMALL_BODY_LENGTH) return [head, typeof body === "string" ? fromByteText(body) : body]
  if (typeof body === "string") return [head + body]
  const bytes = Buffer.allocUnsafe(head.length + length)
  bytes.write(head, 0, "latin1")
  bytes.set(body, head.length)
  return [bytes]
}

/** Why a call failed: the reason it was aborted with, where it was; else what was met on the wire. */
export function toSendError(thrown: unknown, abort: Abort): unknown {
  if (abort.aborted) return abort.reason
  return thrown instanceof TransportError ? thrown : new TransportError(faultOf(thrown), thrown)
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

/** The status of the response to a GET; undefined without a response. */
export async function probe(url: string, headers: Headers): Promise<number | undefined> {
  try {
    const response = await fetch(url, { headers, redirect: "manual", signal: AbortSignal.timeout(PROBE_MS) })
    await response.body?.cancel()
    return response.status
  } catch {
    return undefined
  }
}
