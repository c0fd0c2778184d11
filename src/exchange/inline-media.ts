// Fetches files that a request references by URL, for upstreams that accept them only inline.
import { excerpt, GatewayError } from "../canonical/gateway-error.ts"
import { type FetchedMedia, MediaFetchError } from "../transport/media-fetch.ts"
import type { InlineMedia } from "./lanes/translate-request.ts"

const MAX_ADDRESSES = 16
const MAX_TOTAL_BYTES = 32 * 1024 * 1024

/** Rejects with a GatewayError that names the address. */
export async function inlineMedia(
  addresses: readonly string[],
  fetch: (address: string) => Promise<FetchedMedia>,
): Promise<ReadonlyMap<string, InlineMedia>> {
  if (addresses.length > MAX_ADDRESSES) {
    throw mediaError(
      `The request references more than ${MAX_ADDRESSES} files by URL, and this model's provider does not fetch URLs`,
    )
  }
  const fetched = await Promise.all(
    addresses.map(async (address) => [address, await fetchMediaItem(address, fetch)] as const),
  )
  const total = fetched.reduce((sum, [, { bytes }]) => sum + bytes.byteLength, 0)
  if (total > MAX_TOTAL_BYTES)
    throw mediaError("The files that the request references by URL are too large to send to this model's provider")
  return new Map(
    fetched.map(([address, { mediaType, bytes }]) => [
      address,
      { mediaType, base64: Buffer.from(bytes).toString("base64") },
    ]),
  )
}

async function fetchMediaItem(
  address: string,
  fetch: (address: string) => Promise<FetchedMedia>,
): Promise<FetchedMedia> {
  try {
    return await fetch(address)
  } catch (thrown) {
    if (!(thrown instanceof MediaFetchError)) throw thrown
    throw mediaError(`The file at \`${excerpt(address)}\` could not be fetched: ${thrown.message}`)
  }
}

function mediaError(why: string): GatewayError {
  return new GatewayError("invalid_parameter", `${why}. Send the file itself, in base64.`)
}
