// The simulator as a provider, without a credential: in this process, or where an entry's address says.
import { BOTH_LIMITS, type Dialect, type Provider } from "./contract.ts"

const dialect: Dialect = { streamUsage: "ask", limitMembers: BOTH_LIMITS, headers: () => ({}) }

export const simulatorProvider: Provider = {
  id: "simulator",
  name: "Simulator",
  baseUrl: "simulator:",
  needsCredential: false,
  isFree: true,
  tokens: "simulator",
  speaks: {
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
