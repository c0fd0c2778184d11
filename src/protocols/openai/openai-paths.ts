// The spellings of OpenAI's paths: clients get base addresses wrong, and Azure's and OpenRouter's clients bring their own.

/** Prefixes of an operation; the specification's comes first. */
const BASES = ["/v1", "", "/api/v1", "/openai/v1", "/openai"]

/** Every path of an operation such as `/chat/completions`. */
export function openaiPaths(...operations: readonly string[]): string[] {
  return operations.flatMap((operation) => BASES.map((base) => base + operation))
}

/** Like `openaiPaths`, for operations that Azure's client sends to a deployment, which is the model. */
export function deploymentPaths(operation: string): string[] {
  return [...openaiPaths(operation), `/openai/deployments/{rest}${operation}`]
}
