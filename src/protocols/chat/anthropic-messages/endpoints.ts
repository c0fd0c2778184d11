// Every path of the messages protocol: under both prefixes, also for clients that omit `/v1`, and under the paths of
// other gateways.
import type { ProtocolPath } from "../../contract.ts"

export const prefixes: readonly string[] = ["/msgapi", "/anthropic"]

/** Bases for clients with the gateway's bare address, or OpenRouter's form of it. */
const BARE = ["/v1", "/api/v1"]
/** OpenAI's listing has the same bare paths; this header identifies clients of this protocol. */
const OWN_HEADER = "anthropic-version"

const at = (...ends: readonly string[]): string[] => prefixes.flatMap((prefix) => ends.map((end) => prefix + end))
const bare = (end: string): string[] => BARE.map((base) => base + end)
const shared = (end: string) => ({ paths: bare(end), header: OWN_HEADER })

export const endpoints: readonly ProtocolPath[] = [
  { method: "POST", paths: [...at("/v1/messages", "/messages"), ...bare("/messages")], does: "generate" },
  {
    method: "POST",
    paths: [...at("/v1/messages/count_tokens", "/messages/count_tokens"), ...bare("/messages/count_tokens")],
    does: "count-tokens",
  },
  { method: "GET", paths: at("/v1/models", "/models"), shared: shared("/models"), does: "list-models" },
  {
    method: "GET",
    paths: at("/v1/models/count", "/models/count"),
    shared: shared("/models/count"),
    does: "count-models",
  },
  {
    method: "GET",
    paths: at("/v1/models/{rest}", "/models/{rest}"),
    shared: shared("/models/{rest}"),
    does: "get-model",
  },
]

export function isVendorPath(path: string): boolean {
  return !path.startsWith("/msgapi/")
}
