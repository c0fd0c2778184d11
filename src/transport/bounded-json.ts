// Asks a host for a small JSON document, within bounds of size and time, and follows no redirect.

/** Why there is no document, for an operator. It contains nothing of the host's response. */
export class BoundedJsonError extends Error {
  override readonly name = "BoundedJsonError"
  constructor(
    message: string,
    /** Of the answer, where there was one. */
    readonly status?: number,
  ) {
    super(message)
  }
}

export interface BoundedJsonRequest {
  readonly url: string
  readonly headers: Headers
  readonly maxBytes: number
  /** Ends the call, and the reading of its answer. */
  readonly signal: AbortSignal
  /** Posted where it is given. */
  readonly body?: unknown
}

/** Rejects with a BoundedJsonError. */
export async function fetchBoundedJson({ body, ...request }: BoundedJsonRequest): Promise<unknown> {
  const { url, headers, maxBytes, signal } = request
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }
  try {
    const response = await fetch(url, { ...sent, headers, signal, redirect: "manual", keepalive: false })
    if (!response.ok) {
      await response.body?.cancel()
      throw new BoundedJsonError(statusMessage(response.status), response.status)
    }
    return JSON.parse(await boundedText(response, maxBytes))
  } catch (thrown) {
    if (thrown instanceof BoundedJsonError) throw thrown
    if (signal.aborted) throw new BoundedJsonError("no complete response in time")
    // A document too deep for the parser is a RangeError.
    const isUnreadable = thrown instanceof SyntaxError || thrown instanceof RangeError
    throw new BoundedJsonError(isUnreadable ? "its response is not JSON" : "no response from this address")
  }
}

function statusMessage(status: number): string {
  return status === 401 || status === 403 ? `refused (status ${status})` : `it answers ${status}`
}

async function boundedText(response: Response, maxBytes: number): Promise<string> {
  const tooLarge = new BoundedJsonError(`its response is larger than ${maxBytes / 1024 / 1024} MiB`)
  const pieces: Uint8Array[] = []
  let length = Number(response.headers.get("content-length") ?? 0)
  if (length > maxBytes) {
    await response.body?.cancel()
    throw tooLarge
  }
  length = 0
  // Leaving the loop cancels the answer.
  for await (const piece of response.body ?? []) {
    length += piece.byteLength
    if (length > maxBytes) throw tooLarge
    pieces.push(piece)
  }
  return new TextDecoder().decode(Buffer.concat(pieces, length))
}
