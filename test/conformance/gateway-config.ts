// The gateway's side of the matrix: a provider and a model for each of the scripted upstreams.
import { modelOf, UPSTREAMS, type UpstreamProtocol } from "./axes.ts"

/** The gateway's credential at the upstreams: a key pair for signed calls, otherwise its second part. */
export const CREDENTIAL = { accessKeyId: "AKIDMATRIXMATRIX", secretAccessKey: "matrix-upstream-credential" }

interface UpstreamConfig {
  readonly type: string
  /** The model's name there; protocols with several generations of models go by it. */
  readonly model: string
  /** The base address of the vendor's own library. */
  baseUrl(origin: string): string
}

export const SERVED: Readonly<Record<UpstreamProtocol, UpstreamConfig>> = {
  "openai-chat": { type: "openai-compatible", model: "upstream-model", baseUrl: (origin) => `${origin}/v1` },
  "openai-responses": { type: "openai-compatible", model: "upstream-model", baseUrl: (origin) => `${origin}/v1` },
  "anthropic-messages": { type: "anthropic-compatible", model: "claude-opus-4-6", baseUrl: (origin) => origin },
  "gemini-generate": { type: "gemini-compatible", model: "gemini-3-pro", baseUrl: (origin) => origin },
  "bedrock-converse": { type: "bedrock", model: "anthropic.claude-opus-4-6-v1:0", baseUrl: (origin) => origin },
}

/** trivium.yaml for these upstreams. */
export function gatewayConfig(origins: Readonly<Partial<Record<UpstreamProtocol, string>>>): string {
  const served = UPSTREAMS.flatMap((protocol) => {
    const origin = origins[protocol]
    return origin === undefined ? [] : [{ protocol, origin, ...SERVED[protocol] }]
  })
  const { accessKeyId, secretAccessKey } = CREDENTIAL
  const providers = served.map(({ protocol, origin, type, baseUrl }) => {
    const proof =
      type === "bedrock"
        ? `region: us-east-1, access_key_id: ${accessKeyId}, secret_access_key: ${secretAccessKey}`
        : `api_key: ${secretAccessKey}`
    return `  at-${protocol}: { type: ${type}, base_url: "${baseUrl(origin)}", protocols: [${protocol}], ${proof} }\n`
  })
  const models = served.map(
    ({ protocol, model }) => `  - id: ${modelOf(protocol)}
    context_window: 200000
    max_output_tokens: 64000
    modalities: { input: [text, image, pdf], output: [text] }
    capabilities: [tools, json_schema, reasoning, prompt_caching]
    pricing: { input: "1", output: "2" }
    targets: [{ provider: at-${protocol}, model: "${model}" }]
`,
  )
  return `providers:\n${providers.join("")}models:\n${models.join("")}`
}
