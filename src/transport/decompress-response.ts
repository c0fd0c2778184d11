// Answers that came compressed although nobody asked: unpacked as they are read.
import type { HttpResponse, UpstreamResponse } from "./http-response.ts"
import { PacedBody } from "./paced-body.ts"

/** An encoding that nobody knows is left as it is; whoever reads it finds that it is no answer. */
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
