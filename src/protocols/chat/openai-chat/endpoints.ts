import type { ProtocolPath } from "../../contract.ts"
import { deploymentPaths, openaiPaths } from "../../openai/openai-paths.ts"

export const endpoints: readonly ProtocolPath[] = [
  { method: "POST", paths: deploymentPaths("/chat/completions"), does: "generate" },
  { method: "GET", paths: openaiPaths("/models"), does: "list-models" },
  { method: "GET", paths: openaiPaths("/models/count"), does: "count-models" },
  { method: "GET", paths: openaiPaths("/models/{rest}"), does: "get-model" },
]
