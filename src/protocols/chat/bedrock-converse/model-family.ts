// What the makers' models behind this one interface take of it: Converse passes on what it is told, and each refuses
// what it does not know. One table, by the model's name there (as documented and recorded until November 2026).

import type { HostedTool } from "../../../canonical/chat/chat-request.ts"
import type { MediaPart } from "../../../canonical/chat/content-part.ts"

export interface ModelFamily {
  /** How it is told to think: Claude's `thinking` with a budget or without, or a word for effort somewhere. */
  readonly thinking?: "budget" | "adaptive" | "reasoningConfig" | "reasoning_effort" | "reasoning.effort"
  /** How it is told to sample from the likeliest only, among `additionalModelRequestFields`. */
  readonly topK?: "top_k" | "k" | "inferenceConfig.topK"
  /** What holds an answer to a schema: `outputConfig`, a tool that must be called, or words alone. */
  readonly format: "config" | "tool" | "words"
  /** Whether it can be made to call a tool. */
  readonly forces: boolean
  readonly caches?: { readonly tools: boolean; readonly hour: boolean }
  /** Whether a result may say that it is an error. */
  readonly failures: boolean
  /** What a result may hold beside text. */
  readonly inResults: readonly MediaPart["media"][]
  /** Whether it is one of Anthropic's, whose rules for sampling, stops and thoughts go before Converse's. */
  readonly isClaude: boolean
  /** The tools it runs itself, by what they do. */
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

/** Weights that anybody may run, behind servers that hold answers to schemas. */
const OPEN: ModelFamily = { ...OTHER, format: "config" }

/** The first that fits counts. A name may have a region before it, or be the end of an ARN. */
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
