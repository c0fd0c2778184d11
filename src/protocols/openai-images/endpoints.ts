import type { Endpoint } from "../contract.ts"
import { deploymentPaths } from "../openai-paths.ts"

export const endpoints: readonly Endpoint[] = [
  { method: "POST", paths: deploymentPaths("/images/generations"), does: "generate" },
]
