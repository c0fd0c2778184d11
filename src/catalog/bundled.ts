// The bundled models. Each row: id, display name, release date, context window, output limit, and where it is served.
import type { Model, TargetRow } from "./catalog.ts"

interface Row {
  readonly id: string
  readonly name: string
  readonly released: string
  readonly context: number
  readonly output: number
  readonly reasoning?: true
  readonly hosts: Readonly<Record<string, string>>
}

const ROWS: readonly Row[] = [
  {
    id: "openai/gpt-4o",
    name: "GPT-4o",
    released: "2024-05-13",
    context: 128_000,
    output: 16_384,
    hosts: { openai: "gpt-4o" },
  },
  {
    id: "openai/gpt-4o-mini",
    name: "GPT-4o mini",
    released: "2024-07-18",
    context: 128_000,
    output: 16_384,
    hosts: { openai: "gpt-4o-mini" },
  },
  {
    id: "openai/gpt-4.1",
    name: "GPT-4.1",
    released: "2025-04-14",
    context: 1_047_576,
    output: 32_768,
    hosts: { openai: "gpt-4.1" },
  },
  {
    id: "openai/gpt-4.1-mini",
    name: "GPT-4.1 mini",
    released: "2025-04-14",
    context: 1_047_576,
    output: 32_768,
    hosts: { openai: "gpt-4.1-mini" },
  },
  {
    id: "openai/o4-mini",
    name: "o4-mini",
    released: "2025-04-16",
    context: 200_000,
    output: 100_000,
    reasoning: true,
    hosts: { openai: "o4-mini" },
  },
  {
    id: "openai/gpt-5",
    name: "GPT-5",
    released: "2025-08-07",
    context: 400_000,
    output: 128_000,
    reasoning: true,
    hosts: { openai: "gpt-5" },
  },
  {
    id: "openai/gpt-5-mini",
    name: "GPT-5 mini",
    released: "2025-08-07",
    context: 400_000,
    output: 128_000,
    reasoning: true,
    hosts: { openai: "gpt-5-mini" },
  },
  {
    id: "openai/gpt-oss-120b",
    name: "gpt-oss-120b",
    released: "2025-08-05",
    context: 131_072,
    output: 65_536,
    reasoning: true,
    hosts: { groq: "openai/gpt-oss-120b", together: "openai/gpt-oss-120b" },
  },
  {
    id: "meta/llama-3.3-70b",
    name: "Llama 3.3 70B",
    released: "2024-12-06",
    context: 131_072,
    output: 32_768,
    hosts: { groq: "llama-3.3-70b-versatile", together: "meta-llama/Llama-3.3-70B-Instruct-Turbo" },
  },
  {
    id: "deepseek/deepseek-chat",
    name: "DeepSeek Chat",
    released: "2024-12-26",
    context: 128_000,
    output: 8192,
    hosts: { deepseek: "deepseek-chat" },
  },
  {
    id: "deepseek/deepseek-reasoner",
    name: "DeepSeek Reasoner",
    released: "2025-01-20",
    context: 128_000,
    output: 65_536,
    reasoning: true,
    hosts: { deepseek: "deepseek-reasoner" },
  },
  {
    id: "mistral/mistral-large",
    name: "Mistral Large",
    released: "2024-11-18",
    context: 131_072,
    output: 16_384,
    hosts: { mistral: "mistral-large-latest" },
  },
  {
    id: "mistral/mistral-small",
    name: "Mistral Small",
    released: "2025-06-20",
    context: 128_000,
    output: 16_384,
    hosts: { mistral: "mistral-small-latest" },
  },
  {
    id: "xai/grok-4",
    name: "Grok 4",
    released: "2025-07-09",
    context: 256_000,
    output: 64_000,
    reasoning: true,
    hosts: { xai: "grok-4" },
  },
]

export const bundledModels: readonly Model[] = ROWS.map((row) => ({
  id: row.id,
  displayName: row.name,
  created: Date.parse(row.released) / 1000,
  contextWindow: row.context,
  maxOutputTokens: row.output,
  aliases: [row.id.slice(row.id.indexOf("/") + 1)],
  reasoning: row.reasoning ?? false,
  targets: Object.entries(row.hosts).map(
    ([provider, model]): TargetRow => ({ provider, model, priority: 1, weight: 1 }),
  ),
}))
