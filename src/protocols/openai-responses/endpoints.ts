import type { Endpoint } from "../contract.ts"
import { openaiPaths } from "../openai-paths.ts"

export const endpoints: readonly Endpoint[] = [
  { method: "POST", paths: openaiPaths("/responses"), does: "generate" },
  { method: "POST", paths: openaiPaths("/responses/input_tokens"), does: "count-tokens" },
]
