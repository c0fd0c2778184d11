// The simulator as a provider, without a credential: in this process, or at the entry's address.
import { BOTH_LIMITS, type ProtocolDialect, type Provider } from "./contract.ts"

const dialect: ProtocolDialect = { streamUsage: "ask", limitMembers: BOTH_LIMITS, headers: () => ({}) }

export const simulatorProvider: Provider = {
  id: "simulator",
  name: "Simulator",
  baseUrl: "simulator:",
  needsCredential: false,
  isFree: true,
  tokenizer: "simulator",
  dialects: {
    "openai-chat": dialect,
    "openai-responses": dialect,
    "openai-completions": dialect,
    "openai-embeddings": dialect,
    "openai-images": dialect,
    "openai-moderations": dialect,
    "anthropic-messages": dialect,
    "gemini-generate": dialect,
    "gemini-embed": dialect,
  },
}

/** The protocol of a model's author, the first part of its id; all others use OpenAI's. */
const AUTHORS: Readonly<Record<string, readonly string[]>> = {
  anthropic: ["anthropic-messages"],
  google: ["gemini-generate", "gemini-embed", "openai-images"],
  openai: Object.keys(simulatorProvider.dialects).filter((protocol) => protocol.startsWith("openai-")),
}
const OTHERS = AUTHORS.openai?.filter((protocol) => protocol !== "openai-responses") ?? []

/** The simulator in demo mode: each model uses its author's protocol, which makes translations visible. */
export const demoProvider: Provider = {
  ...simulatorProvider,
  dialects: Object.fromEntries(
    Object.entries(simulatorProvider.dialects).map(([protocol, dialect]) => {
      const serves = (model: string) => (AUTHORS[model.split("/", 1)[0] ?? ""] ?? OTHERS).includes(protocol)
      return [protocol, { ...dialect, serves }]
    }),
  ),
}
