// The path of a request's address.

const SCHEME_LENGTH = "http://".length

/** Bun gives absolute, normalised addresses; only where the `Host` header makes no sense, the bare path. */
export function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", SCHEME_LENGTH)
  const end = url.indexOf("?", start)
  return end < 0 ? url.slice(start) : url.slice(start, end)
}
