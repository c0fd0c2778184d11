// Model names as other gateways write them: variants after a colon, and other host names.
import type { RoutingStrategy } from "../canonical/chat/chat-request.ts"

/** The meaning of an OpenRouter variant: a strategy, or advice if the gateway has no counterpart. */
export type NameVariant = { readonly routing: RoutingStrategy } | { readonly advice: string }

const VARIANTS: ReadonlyMap<string, NameVariant> = new Map<string, NameVariant>([
  ["nitro", { routing: "latency" }],
  ["floor", { routing: "cost" }],
  ["exacto", { routing: "quality" }],
  ["free", { advice: "no free variants are offered; leave out `:free` to call it at its price" }],
  ["online", { advice: "leave out `:online`, and add the protocol's web search tool to the request" }],
  ["thinking", { advice: "leave out `:thinking`, and ask for reasoning in the request" }],
  ["extended", { advice: "leave out `:extended`" }],
  ["beta", { advice: "leave out `:beta`" }],
])

/** LiteLLM's host names, and the gateway's. */
const HOSTS: ReadonlyMap<string, string> = new Map([
  ["vertex_ai", "vertex"],
  ["vertex_ai_beta", "vertex"],
  ["together_ai", "together"],
  ["fireworks_ai", "fireworks"],
  ["azure_ai", "azure"],
  ["nvidia_nim", "nvidia"],
  ["github_models", "github"],
  ["hosted_vllm", "vllm"],
  ["ollama_chat", "ollama"],
])

/** The name without its variant; undefined if it has no known one. */
export function splitVariant(name: string): { readonly base: string; readonly variant: NameVariant } | undefined {
  const colon = name.lastIndexOf(":")
  const variant = colon < 1 ? undefined : VARIANTS.get(name.slice(colon + 1).toLowerCase())
  return variant && { base: name.slice(0, colon), variant }
}

/** The name with the gateway's name of the host. */
export function withKnownHost(name: string): string {
  const slash = name.indexOf("/")
  const host = slash < 1 ? undefined : HOSTS.get(name.slice(0, slash).toLowerCase())
  return host === undefined ? name : host + name.slice(slash)
}
