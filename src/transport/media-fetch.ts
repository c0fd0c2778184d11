// Fetches a caller's URL: only from public addresses, checked at the address that is connected to, without redirects, and
// within bounds.
import { lookup } from "node:dns/promises"
import { Abort } from "./abort.ts"
import { HttpConnection } from "./http-connection.ts"
import { isPublicAddress } from "./public-address.ts"
import { readAll } from "./read-all.ts"
import { TransportError } from "./transport-error.ts"
import { dialPatiently, type WireOrigin } from "./wire.ts"

/** Why nothing was fetched, for the author of the address. */
export class MediaFetchError extends Error {
  override readonly name = "MediaFetchError"
}

export interface FetchedMedia {
  readonly mediaType: string
  readonly bytes: Uint8Array
}

export interface MediaFetchOptions {
  readonly maxBytes?: number
  readonly limitMs?: number
  /** For tests, which have no public internet: who may be connected to, how names are looked up, and at which ports. */
  readonly isAllowed?: (address: string) => boolean
  readonly addressesOf?: (hostname: string) => Promise<readonly string[]>
  readonly ports?: readonly number[]
}

const DEFAULTS: Required<MediaFetchOptions> = {
  maxBytes: 20 * 1024 * 1024,
  limitMs: 10_000,
  isAllowed: isPublicAddress,
  addressesOf: async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address),
  ports: [80, 443],
}

/** Rejects with a MediaFetchError. */
export async function fetchMedia(address: string, options: MediaFetchOptions = {}): Promise<FetchedMedia> {
  const settings = { ...DEFAULTS, ...options }
  const abort = new Abort()
  const late = new MediaFetchError(`it did not arrive within ${settings.limitMs / 1000} seconds`)
  const limit = setTimeout(() => abort.abort(late), settings.limitMs)
  try {
    return await Promise.race([getMedia(address, settings, abort), rejectOnAbort(abort)])
  } catch (thrown) {
    throw asMediaError(thrown, settings)
  } finally {
    clearTimeout(limit)
  }
}

function rejectOnAbort(abort: Abort): Promise<never> {
  return new Promise((_, reject) => {
    abort.signal.addEventListener("abort", () => reject(abort.reason))
  })
}

async function getMedia(address: string, settings: Required<MediaFetchOptions>, abort: Abort): Promise<FetchedMedia> {
  const url = addressOf(address, settings.ports)
  const connection = await connectTo(url, settings)
  const answer = connection.request([requestText(url)])
  abort.onAbort = () => answer.abandon(abort.reason)
  try {
    await answer.arrived
    if (answer.status !== 200) throw new MediaFetchError(`its host answered ${answer.status}`)
    const mediaType = answer.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? ""
    if (!/^[a-z]+\/[a-z0-9.+-]+$/.test(mediaType)) throw new MediaFetchError("its host does not send a media type")
    if (answer.headers.has("content-encoding")) throw new MediaFetchError("its host sent it compressed")
    return { mediaType, bytes: await readAll(answer, settings.maxBytes) }
  } finally {
    connection.destroy(undefined)
  }
}

function addressOf(address: string, ports: readonly number[]): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw new MediaFetchError("it is not an http or https URL")
  if (url.username !== "" || url.password !== "") throw new MediaFetchError("it contains a user name")
  if (!ports.includes(portOf(url))) throw new MediaFetchError("its port is not a standard web port")
  return url
}

function portOf({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port)
}

/** What is checked is what is connected to: a name that is looked up again might lead elsewhere. */
async function connectTo(url: URL, { isAllowed, addressesOf, limitMs }: Required<MediaFetchOptions>) {
  const hostname = url.hostname.replace(/^\[|\]$/g, "")
  const [found, ...more] = await addressesOf(hostname).catch(() => [])
  if (found === undefined) throw new MediaFetchError("its host name cannot be resolved")
  if (![found, ...more].every(isAllowed)) throw new MediaFetchError("its host is not on the public internet")
  const origin: WireOrigin = { hostname: found, port: portOf(url), tls: url.protocol === "https:", name: hostname }
  return HttpConnection.open({
    dial: (listener) => dialPatiently(origin, listener),
    connectMs: limitMs,
    onIdle: (connection) => connection.destroy(undefined),
    onClosed: () => {},
  })
}

function requestText({ host, pathname, search }: URL): string {
  const headers = { host, "user-agent": "trivium", accept: "*/*", "accept-encoding": "identity", connection: "close" }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n`
}

function asMediaError(thrown: unknown, { maxBytes }: Required<MediaFetchOptions>): MediaFetchError {
  if (thrown instanceof MediaFetchError) return thrown
  const tooLarge = thrown instanceof TransportError && thrown.fault === "too-large"
  if (tooLarge) return new MediaFetchError(`it is larger than ${Math.floor(maxBytes / 1024 / 1024)} MiB`)
  return new MediaFetchError("its host could not be reached", { cause: thrown })
}
