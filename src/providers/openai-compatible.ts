// The providers that speak OpenAI's chat completions: a row each.
import type { Secret } from "../config/secret.ts"
import type { Dialect, Provider } from "./contract.ts"

interface Row {
  readonly id: string
  readonly name: string
  readonly baseUrl: string
  readonly environmentVariable: string
  readonly streamUsage?: Dialect["streamUsage"]
}

const ROWS: readonly Row[] = [
  { id: "openai", name: "OpenAI", baseUrl: "https://api.openai.com/v1", environmentVariable: "OPENAI_API_KEY" },
  { id: "groq", name: "Groq", baseUrl: "https://api.groq.com/openai/v1", environmentVariable: "GROQ_API_KEY" },
  { id: "deepseek", name: "DeepSeek", baseUrl: "https://api.deepseek.com/v1", environmentVariable: "DEEPSEEK_API_KEY" },
  {
    id: "together",
    name: "Together AI",
    baseUrl: "https://api.together.xyz/v1",
    environmentVariable: "TOGETHER_API_KEY",
  },
  { id: "xai", name: "xAI", baseUrl: "https://api.x.ai/v1", environmentVariable: "XAI_API_KEY" },
  {
    id: "mistral",
    name: "Mistral AI",
    baseUrl: "https://api.mistral.ai/v1",
    environmentVariable: "MISTRAL_API_KEY",
    streamUsage: "sent",
  },
]

export const openaiCompatibleProviders: readonly Provider[] = ROWS.map(({ streamUsage = "ask", ...row }) => ({
  ...row,
  needsCredential: true,
  speaks: { "openai-chat": chatDialect(streamUsage) },
}))

/** Any host that speaks the protocol, at an address the operator gives. */
export const openaiCompatible: Provider = {
  id: "openai-compatible",
  name: "OpenAI-compatible",
  needsCredential: false,
  speaks: { "openai-chat": chatDialect("ask") },
}

function chatDialect(streamUsage: Dialect["streamUsage"]): Dialect {
  return { path: "/chat/completions", streamUsage, headers: bearer }
}

function bearer(credential: Secret | undefined): Record<string, string> {
  return credential ? { authorization: `Bearer ${credential.reveal()}` } : {}
}
