import type { Endpoint } from "../contract.ts"
import { openaiPaths } from "../openai-paths.ts"

export const endpoints: readonly Endpoint[] = [{ method: "POST", paths: openaiPaths("/moderations"), does: "generate" }]
