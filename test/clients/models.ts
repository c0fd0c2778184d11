// The models of the client matrix: one for each upstream protocol, under names that libraries know where they have any,
// and the gateway's configuration for them. All are served by one scripted host.
import { CREDENTIAL } from "../conformance/gateway-config.ts"

/** A model's id, and the protocols of its provider, best first. */
export const models = {
  "openai/gpt-5": ["openai-responses", "openai-chat"],
  "anthropic/claude-sonnet-4.5": ["anthropic-messages"],
  "google/gemini-2.5-flash": ["gemini-generate"],
  "deepseek/deepseek-v3.2": ["openai-chat"],
  "aws/claude-opus-4.6": ["bedrock-converse"],
} as const

export function clientsConfig(origin: string): string {
  const { accessKeyId, secretAccessKey } = CREDENTIAL
  return `providers:
  openai: { base_url: "${origin}/v1", api_key: ${secretAccessKey} }
  anthropic: { base_url: "${origin}", api_key: ${secretAccessKey} }
  google: { base_url: "${origin}", api_key: ${secretAccessKey} }
  deepinfra: { base_url: "${origin}/v1", api_key: ${secretAccessKey} }
  bedrock: { protocols: [bedrock-converse], base_url: "${origin}", region: us-east-1, access_key_id: ${accessKeyId}, secret_access_key: ${secretAccessKey} }
models:
  - id: aws/claude-opus-4.6
    context_window: 200000
    max_output_tokens: 64000
    capabilities: [tools, json_schema, reasoning, prompt_caching]
    pricing: { input: "1", output: "2" }
    targets: [{ provider: bedrock, model: "anthropic.claude-opus-4-6-v1:0" }]
  - id: deepseek/deepseek-v3.2
    targets: [{ provider: deepinfra, model: deepseek-ai/DeepSeek-V3.2 }]
  - id: anthropic/claude-sonnet-4.5
    targets: [{ provider: anthropic, model: claude-sonnet-4-5 }]
`
}
