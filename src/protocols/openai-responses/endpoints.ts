import type { Endpoint } from "../contract.ts"

export const endpoints: readonly Endpoint[] = [
  { method: "POST", paths: ["/v1/responses"], does: "generate" },
  { method: "POST", paths: ["/v1/responses/input_tokens"], does: "count-tokens" },
]
