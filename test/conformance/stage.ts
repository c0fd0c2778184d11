// The stage of the cells: the scripted upstreams behind a gateway.
import { RunningGateway } from "../stage/gateway.ts"
import { UPSTREAMS, type UpstreamProtocol } from "./axes.ts"
import type { GatewayAddress } from "./clients/client.ts"
import { gatewayConfig } from "./gateway-config.ts"
import { MatrixHost } from "./upstreams/host.ts"
import { upstreamFormats } from "./upstreams/upstream-formats.ts"

export interface MatrixStage {
  readonly gateway: GatewayAddress
  readonly key: string
  readonly hosts: ReadonlyMap<UpstreamProtocol, MatrixHost>
  stop(): Promise<void>
}

/** The upstreams; `ports` are theirs in the order of the protocols, any free ones where there are none. */
export async function startHosts(
  protocols: readonly UpstreamProtocol[],
  ports: readonly number[] = [],
): Promise<Map<UpstreamProtocol, MatrixHost>> {
  const hosts = new Map<UpstreamProtocol, MatrixHost>()
  for (const protocol of UPSTREAMS.filter((each) => protocols.includes(each))) {
    hosts.set(protocol, await MatrixHost.start(upstreamFormats[protocol], ports[UPSTREAMS.indexOf(protocol)]))
  }
  return hosts
}

/** Our own gateway, as a user starts it. */
export async function startStage(protocols: readonly UpstreamProtocol[]): Promise<MatrixStage> {
  const hosts = await startHosts(protocols)
  const origins = Object.fromEntries([...hosts].map(([protocol, host]) => [protocol, host.origin]))
  const gateway = await RunningGateway.start({ config: gatewayConfig(origins) })
  return {
    gateway: addressesAt(gateway.url),
    key: gateway.key,
    hosts,
    async stop() {
      await gateway.stop()
      await stopHosts(hosts)
    },
  }
}

export async function stopHosts(hosts: ReadonlyMap<UpstreamProtocol, MatrixHost>): Promise<void> {
  for (const host of hosts.values()) await host.stop()
}

export function addressesAt(baseUrl: string): GatewayAddress {
  const base = baseUrl.replace(/\/+$/, "")
  return { openai: `${base}/v1`, anthropic: `${base}/anthropic`, gemini: `${base}/gemini` }
}
