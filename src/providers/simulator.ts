// The simulator as a provider: reached in this process, without a credential.
import type { Dialect, Provider } from "./contract.ts"

const dialect: Dialect = { streamUsage: "ask", headers: () => ({}) }

export const simulatorProvider: Provider = {
  id: "simulator",
  name: "Simulator",
  baseUrl: "simulator:",
  needsCredential: false,
  speaks: {
    "openai-chat": dialect,
    "openai-responses": dialect,
    "openai-embeddings": dialect,
    "openai-images": dialect,
    "anthropic-messages": dialect,
    "gemini-generate": dialect,
  },
}
