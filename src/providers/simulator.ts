// The simulator as a provider: reached in this process, without a credential.
import type { Provider } from "./contract.ts"

export const simulatorProvider: Provider = {
  id: "simulator",
  name: "Simulator",
  baseUrl: "simulator:",
  needsCredential: false,
  speaks: { "openai-chat": { path: "/chat/completions", streamUsage: "ask", headers: () => ({}) } },
}
