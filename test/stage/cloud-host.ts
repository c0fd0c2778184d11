// One host that plays a provider and the clouds' credential endpoints, by path.
import { eventually } from "./eventually.ts"
import { type ReceivedRequest, ScriptedUpstream, type UpstreamScript } from "./upstream.ts"

/** The script for each path prefix; the longest match answers. */
export type CloudRoutes = Readonly<Record<string, UpstreamScript>>

export class CloudHost {
  routes: CloudRoutes = {}

  private constructor(readonly upstream: ScriptedUpstream) {
    upstream.script = (request, reply) => {
      const fitting = Object.keys(this.routes).filter((path) => request.path.startsWith(path))
      const [longest] = fitting.toSorted((one, other) => other.length - one.length)
      const script = longest === undefined ? undefined : this.routes[longest]
      return script ? script(request, reply) : reply.json({ error: "not found" }, 404)
    }
  }

  static async start(routes: CloudRoutes = {}): Promise<CloudHost> {
    const host = new CloudHost(await ScriptedUpstream.start())
    host.routes = routes
    return host
  }

  get origin(): string {
    return this.upstream.origin
  }

  get authority(): string {
    return `127.0.0.1:${this.upstream.port}`
  }

  /** The requests to paths with this prefix. */
  requestsTo(path: string): ReceivedRequest[] {
    return this.upstream.requests.filter((request) => request.path.startsWith(path))
  }

  /** Changes what some paths answer, until `act` is done. */
  async during(routes: CloudRoutes, act: () => Promise<void>): Promise<void> {
    const before = this.routes
    this.routes = { ...before, ...routes }
    try {
      await act()
    } finally {
      this.routes = before
    }
  }

  stop(): Promise<void> {
    return this.upstream.stop()
  }
}

/** The statuses of this many calls made at once. */
export async function statusesOf(calls: number, call: () => Promise<Response>): Promise<number[]> {
  const responses = await Promise.all(Array.from({ length: calls }, call))
  await Promise.all(responses.map((response) => response.text()))
  return responses.map(({ status }) => status)
}

/** Calls until it gets this answer, across breakers and pauses. */
export async function answersWith(status: number, call: () => Promise<Response>): Promise<Response> {
  let last: Response | undefined
  const holds = async () => {
    last = await call()
    return last.status === status
  }
  await eventually(holds, { what: `an answer with status ${status}` })
  if (!last) throw new Error("nothing was called")
  return last
}

export function formOf({ body }: ReceivedRequest): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(body.toString()))
}
