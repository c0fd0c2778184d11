import type { ProtocolPath } from "../../contract.ts"
import { deploymentPaths } from "../../openai/openai-paths.ts"

export const endpoints: readonly ProtocolPath[] = [
  { method: "POST", paths: deploymentPaths("/embeddings"), does: "generate" },
]
