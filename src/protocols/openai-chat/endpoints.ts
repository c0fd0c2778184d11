import type { Endpoint } from "../contract.ts"

export const endpoints: readonly Endpoint[] = [
  { method: "POST", path: "/v1/chat/completions", does: "generate" },
  { method: "GET", path: "/v1/models", does: "list-models" },
  { method: "GET", path: "/v1/models/count", does: "count-models" },
  { method: "GET", path: "/v1/models/{model}", does: "get-model" },
]
