// Every path of the messages protocol, under both of its prefixes; some clients leave out `/v1`.
import type { Endpoint } from "../contract.ts"

export const prefixes: readonly string[] = ["/msgapi", "/anthropic"]

const at = (...ends: readonly string[]): string[] => prefixes.flatMap((prefix) => ends.map((end) => prefix + end))

export const endpoints: readonly Endpoint[] = [
  { method: "POST", paths: at("/v1/messages", "/messages"), does: "generate" },
  { method: "POST", paths: at("/v1/messages/count_tokens", "/messages/count_tokens"), does: "count-tokens" },
  { method: "GET", paths: at("/v1/models", "/models"), does: "list-models" },
  { method: "GET", paths: at("/v1/models/count", "/models/count"), does: "count-models" },
  { method: "GET", paths: at("/v1/models/{rest}", "/models/{rest}"), does: "get-model" },
]
