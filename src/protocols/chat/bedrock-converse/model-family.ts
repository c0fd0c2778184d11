// The capabilities of each vendor's models behind Converse: it forwards what it receives, and each model refuses what
// it does not know. One table, by model name (as documented and recorded until November 2026).

import type { HostedTool } from "../../../canonical/chat/chat-request.ts"
import type { MediaPart } from "../../../canonical/chat/content-part.ts"

export interface ModelFamily {
  /**
   * The form of reasoning settings: Claude's `thinking` with or without a budget, or an effort in one of several
   * members.
   */
  readonly thinking?: "budget" | "adaptive" | "reasoningConfig" | "reasoning_effort" | "reasoning.effort"
  /** The member of `additionalModelRequestFields` for top-k sampling. */
  readonly topK?: "top_k" | "k" | "inferenceConfig.topK"
  /** The way to enforce a schema: `outputConfig`, a tool that must be called, or only the prompt. */
  readonly format: "config" | "tool" | "words"
  /** True if the model can be forced to call a tool. */
  readonly forces: boolean
  readonly caches?: { readonly tools: boolean; readonly hour: boolean }
  /** True if a tool result may be marked as an error. */
  readonly failures: boolean
  /** The media that a tool result may contain in addition to text. */
  readonly inResults: readonly MediaPart["media"][]
  /** True for Anthropic's models, whose rules for sampling, stop sequences and reasoning override Converse's. */
  readonly isClaude: boolean
  /** The tools that the model runs itself, by kind. */
  readonly systemTools?: Readonly<Partial<Record<HostedTool["purpose"], string>>>
}

const OTHER: ModelFamily = {
  format: "words",
  forces: true,
  failures: false,
  inResults: ["image", "document"],
  isClaude: false,
}

const CLAUDE: ModelFamily = {
  ...OTHER,
  thinking: "adaptive",
  topK: "top_k",
  format: "tool",
  caches: { tools: true, hour: true },
  failures: true,
  isClaude: true,
}

const NOVA: ModelFamily = {
  ...OTHER,
  topK: "inferenceConfig.topK",
  format: "tool",
  caches: { tools: false, hour: false },
  failures: true,
  inResults: ["image"],
}

const NOVA_2: ModelFamily = {
  ...NOVA,
  thinking: "reasoningConfig",
  systemTools: { code: "nova_code_interpreter", "web-search": "nova_grounding" },
}

/** Open-weight models, behind servers that enforce schemas. */
const OPEN: ModelFamily = { ...OTHER, format: "config" }

/** The first match counts. A name may have a region prefix, or be the end of an ARN. */
const FAMILIES: readonly (readonly [name: RegExp, family: ModelFamily])[] = [
  [
    modelPattern("anthropic\\.claude-(?:v?[23]|instant|opus-4-[12]|sonnet-4-2)"),
    { ...CLAUDE, thinking: "budget", caches: { tools: true, hour: false } },
  ],
  [modelPattern("anthropic\\.claude-[a-z]+-4-5"), { ...CLAUDE, thinking: "budget", format: "config" }],
  [modelPattern("anthropic\\.claude-opus-4-6"), { ...CLAUDE, format: "config" }],
  [modelPattern("anthropic\\."), CLAUDE],
  [modelPattern("amazon\\.nova-2"), NOVA_2],
  [modelPattern("amazon\\.nova"), NOVA],
  [modelPattern("openai\\.gpt-oss"), { ...OPEN, thinking: "reasoning_effort" }],
  [modelPattern("openai\\."), { ...OPEN, thinking: "reasoning.effort" }],
  [modelPattern("deepseek\\.r1"), { ...OTHER, forces: false }],
  [modelPattern("deepseek\\."), { ...OPEN, thinking: "reasoning_effort" }],
  [modelPattern("(?:qwen|google|nvidia|minimax|moonshot|moonshotai|zai)\\."), OPEN],
  [modelPattern("mistral\\.(?:mistral-large-3|ministral|magistral|voxtral|devstral)"), { ...OPEN, topK: "top_k" }],
  [modelPattern("mistral\\."), { ...OTHER, topK: "top_k" }],
  [modelPattern("meta\\."), { ...OTHER, forces: false }],
  [modelPattern("cohere\\."), { ...OTHER, topK: "k" }],
]

function modelPattern(start: string): RegExp {
  return new RegExp(`(?:^|[./])${start}`)
}

export function familyOf(model: string): ModelFamily {
  return FAMILIES.find(([name]) => name.test(model))?.[1] ?? OTHER
}
