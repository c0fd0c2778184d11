// An HTTP server that passes every request to one function: for the administration, which has its own route table.
import { pathOf } from "./url-path.ts"

interface PlainServerOptions {
  readonly host: string
  /** The first that is free is taken; 0 is any free one. */
  readonly ports: readonly number[]
  readonly answer: (request: Request, path: string) => Promise<Response>
}

export class PlainServer {
  private readonly bun: ReturnType<typeof Bun.serve>

  constructor(private readonly options: PlainServerOptions) {
    this.bun = listen(options, options.ports)
  }

  get url(): string {
    const { host } = this.options
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.bun.port}`
  }

  async close(): Promise<void> {
    await this.bun.stop(true)
  }
}

function listen(options: PlainServerOptions, [port = 0, ...others]: readonly number[]): ReturnType<typeof Bun.serve> {
  try {
    return Bun.serve({
      hostname: options.host,
      port,
      development: false,
      reusePort: false,
      // The routes' own limits, enforced where the body is read, are far below.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: (request) => options.answer(request, pathOf(request.url)),
    })
  } catch (thrown) {
    if (others.length > 0) return listen(options, others)
    const code = (thrown as NodeJS.ErrnoException).code ?? "unknown error"
    const why = code === "EADDRINUSE" ? `port ${port} is in use by another process` : `port ${port}: ${code}`
    const hint = "Choose another with --admin-port, or 0 for any free one."
    throw new Error(`The administration server cannot listen on ${options.host}: ${why}. ${hint}`, { cause: thrown })
  }
}
