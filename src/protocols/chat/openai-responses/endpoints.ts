import type { ProtocolPath } from "../../contract.ts"
import { openaiPaths } from "../../openai/openai-paths.ts"

export const endpoints: readonly ProtocolPath[] = [
  { method: "POST", paths: openaiPaths("/responses"), does: "generate" },
  { method: "POST", paths: openaiPaths("/responses/input_tokens"), does: "count-tokens" },
]
