import type { Endpoint } from "../contract.ts"

export const endpoints: readonly Endpoint[] = [
  { method: "POST", paths: ["/v1/chat/completions"], does: "generate" },
  { method: "GET", paths: ["/v1/models"], does: "list-models" },
  { method: "GET", paths: ["/v1/models/count"], does: "count-models" },
  { method: "GET", paths: ["/v1/models/{rest}"], does: "get-model" },
]
