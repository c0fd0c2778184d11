// Tools that a provider ran itself for one response, and bills per call in addition to tokens.

export const HOSTED_TOOLS = ["web_search", "grounding", "code_session", "file_search", "image_generation"] as const
export type BilledTool = (typeof HOSTED_TOOLS)[number]

/** Number of calls per tool. */
export type BilledToolCalls = { readonly [Tool in BilledTool]?: number }

/** Counts billed tool calls in one protocol's response: its whole body, or each event of its stream. */
export interface HostedCallCounter {
  see(payload: { readonly [member: string]: unknown }): void
  readonly calls: BilledToolCalls
}
