// The yardstick: the least a proxy on Bun can do. Parses the request, sets the model, forwards; a unary answer is read
// and returned, a stream passes through an empty pull loop. Started with the upstream's base address as its argument.

const [upstream] = process.argv.slice(2)
const target = `${upstream}/chat/completions`

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  async fetch(request) {
    const body = (await request.json()) as { model: string; stream?: boolean }
    body.model = "fixed-upstream"
    const answer = await fetch(target, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer upstream-secret" },
      body: JSON.stringify(body),
    })
    const headers = { "content-type": answer.headers.get("content-type") ?? "application/json" }
    if (body.stream !== true || !answer.body) {
      return new Response(await answer.arrayBuffer(), { status: answer.status, headers })
    }
    return new Response(pullLoop(answer.body), { status: answer.status, headers })
  },
})

process.on("disconnect", () => process.exit())
process.send?.({ port: server.port })

function pullLoop(source: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = source.getReader()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}
