// Decompresses responses that came compressed although that was not requested.
import type { HttpResponse, UpstreamResponse } from "./http-response.ts"
import { PacedBody } from "./paced-body.ts"

/** An unknown encoding is left as it is; reading the response then fails. */
export function decompressResponse(answer: HttpResponse): UpstreamResponse {
  const format = FORMATS[answer.headers.get("content-encoding")?.toLowerCase() ?? ""]
  if (!format) return answer
  const source = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const piece = await answer.read()
        if (piece.done) controller.close()
        else controller.enqueue(piece.value as Uint8Array<ArrayBuffer>)
      },
      cancel: (reason) => answer.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  const { status, ok, headers } = answer
  return { status, ok, headers, body: new PacedBody(source.pipeThrough(new DecompressionStream(format))) }
}

const FORMATS: Readonly<Record<string, "gzip" | "deflate">> = { gzip: "gzip", "x-gzip": "gzip", deflate: "deflate" }
