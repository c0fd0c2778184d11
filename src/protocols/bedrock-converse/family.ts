// What the makers' models behind this one interface take of it: Converse passes on what it is told, and each refuses
// what it does not know. One table, by the model's name there (as documented and recorded until November 2026).
import type { MediaPart } from "../../canonical/part.ts"
import type { HostedTool } from "../../canonical/request.ts"

export interface Family {
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
  readonly systemTools?: Readonly<Partial<Record<HostedTool["does"], string>>>
}

const OTHER: Family = {
  format: "words",
  forces: true,
  failures: false,
  inResults: ["image", "document"],
  isClaude: false,
}

const CLAUDE: Family = {
  ...OTHER,
  thinking: "adaptive",
  topK: "top_k",
  format: "tool",
  caches: { tools: true, hour: true },
  failures: true,
  isClaude: true,
}

const NOVA: Family = {
  ...OTHER,
  topK: "inferenceConfig.topK",
  format: "tool",
  caches: { tools: false, hour: false },
  failures: true,
  inResults: ["image"],
}

const NOVA_2: Family = {
  ...NOVA,
  thinking: "reasoningConfig",
  systemTools: { code: "nova_code_interpreter", "web-search": "nova_grounding" },
}

/** Weights that anybody may run, behind servers that hold answers to schemas. */
const OPEN: Family = { ...OTHER, format: "config" }

/** The first that fits counts. A name may have a region before it, or be the end of an ARN. */
const FAMILIES: readonly (readonly [name: RegExp, family: Family])[] = [
  [
    named("anthropic\\.claude-(?:v?[23]|instant|opus-4-[12]|sonnet-4-2)"),
    { ...CLAUDE, thinking: "budget", caches: { tools: true, hour: false } },
  ],
  [named("anthropic\\.claude-[a-z]+-4-5"), { ...CLAUDE, thinking: "budget", format: "config" }],
  [named("anthropic\\.claude-opus-4-6"), { ...CLAUDE, format: "config" }],
  [named("anthropic\\."), CLAUDE],
  [named("amazon\\.nova-2"), NOVA_2],
  [named("amazon\\.nova"), NOVA],
  [named("openai\\.gpt-oss"), { ...OPEN, thinking: "reasoning_effort" }],
  [named("openai\\."), { ...OPEN, thinking: "reasoning.effort" }],
  [named("deepseek\\.r1"), { ...OTHER, forces: false }],
  [named("deepseek\\."), { ...OPEN, thinking: "reasoning_effort" }],
  [named("(?:qwen|google|nvidia|minimax|moonshot|moonshotai|zai)\\."), OPEN],
  [named("mistral\\.(?:mistral-large-3|ministral|magistral|voxtral|devstral)"), { ...OPEN, topK: "top_k" }],
  [named("mistral\\."), { ...OTHER, topK: "top_k" }],
  [named("meta\\."), { ...OTHER, forces: false }],
  [named("cohere\\."), { ...OTHER, topK: "k" }],
]

function named(start: string): RegExp {
  return new RegExp(`(?:^|[./])${start}`)
}

export function familyOf(model: string): Family {
  return FAMILIES.find(([name]) => name.test(model))?.[1] ?? OTHER
}
