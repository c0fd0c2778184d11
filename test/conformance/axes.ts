// The three axes of the matrix: client protocols, upstream protocols and features.

export const CLIENTS = ["openai-chat", "openai-responses", "anthropic-messages", "gemini-generate"] as const
export type ClientProtocol = (typeof CLIENTS)[number]

export const UPSTREAMS = [...CLIENTS, "bedrock-converse"] as const
export type UpstreamProtocol = (typeof UPSTREAMS)[number]

interface FeatureRules {
  /** Whether a pair of protocols may refuse it instead of supporting it. */
  readonly mayBeRefused: boolean
  /** The clients whose protocol has it, where not all do. */
  readonly clients?: readonly ClientProtocol[]
}

export const FEATURES = {
  text: { mayBeRefused: false },
  stream: { mayBeRefused: false },
  "multi-turn": { mayBeRefused: false },
  tools: { mayBeRefused: false },
  "parallel tools": { mayBeRefused: false },
  "forced tool": { mayBeRefused: false },
  "tool result with image": { mayBeRefused: true },
  "tool error": { mayBeRefused: true },
  "image in": { mayBeRefused: false },
  "document in": { mayBeRefused: true },
  "JSON schema": { mayBeRefused: false },
  reasoning: { mayBeRefused: false },
  "reasoning with tools over turns": { mayBeRefused: true },
  "seals behind text": { mayBeRefused: false },
  "cache marks": { mayBeRefused: true },
  "stop sequence": { mayBeRefused: true },
  usage: { mayBeRefused: false },
  "length finish": { mayBeRefused: false },
  refusal: { mayBeRefused: true },
  "mid-stream error": { mayBeRefused: false },
  "item references": { mayBeRefused: false, clients: ["openai-responses"] },
  "search results": { mayBeRefused: false, clients: ["anthropic-messages"] },
  "remote MCP": { mayBeRefused: false, clients: ["openai-responses", "anthropic-messages"] },
} as const satisfies Record<string, FeatureRules>

export type MatrixFeature = keyof typeof FEATURES
export const FEATURE_NAMES = Object.keys(FEATURES) as MatrixFeature[]

export function isSupportedBy(feature: MatrixFeature, client: ClientProtocol): boolean {
  const { clients }: FeatureRules = FEATURES[feature]
  return clients?.includes(client) ?? true
}

export interface CellName {
  readonly client: ClientProtocol
  readonly upstream: UpstreamProtocol
  readonly feature: MatrixFeature
}

/** The model of an upstream, by the caller's name for it. */
export function modelOf(upstream: UpstreamProtocol): string {
  return `matrix/${upstream}`
}
