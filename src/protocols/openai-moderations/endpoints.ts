import type { Endpoint } from "../contract.ts"

export const endpoints: readonly Endpoint[] = [{ method: "POST", paths: ["/v1/moderations"], does: "generate" }]
