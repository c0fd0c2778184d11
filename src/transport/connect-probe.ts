// Tells an upstream that is out of reach from one that thinks for long. `fetch` does not say when it has connected, so
// when no answer comes for a while the same address is tried with a plain socket.
import { connect } from "node:net"

/** Where a proxy stands between, the upstream need not be reachable from here, and nothing is concluded from that. */
const proxied = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"].some((name) => process.env[name])

/** False when nobody accepts a connection within `ms`; a refusal is an answer, which `fetch` will tell. */
export function acceptsConnections(url: string, ms: number): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url)
  if (proxied || !protocol.startsWith("http")) return Promise.resolve(true)
  const host = hostname.replace(/^\[|\]$/g, "")
  const socket = connect({ host, port: Number(port) || (protocol === "https:" ? 443 : 80) })
  return new Promise((resolve) => {
    const settle = (accepted: boolean) => {
      clearTimeout(limit)
      socket.destroy()
      resolve(accepted)
    }
    const limit = setTimeout(() => settle(false), ms)
    socket.once("connect", () => settle(true)).once("error", () => settle(true))
  })
}
