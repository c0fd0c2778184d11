// Generated requests in canonical form: the input of the laws. Each text in one is unique, so that it can be found in
// the encoded request.
import fc from "fast-check"
import type {
  ChatRequest,
  ChatSettings,
  ConversationTurn,
  ToolChoice,
  ToolDefinition,
} from "../../src/canonical/chat/chat-request.ts"
import type { ContentPart, MediaPart } from "../../src/canonical/chat/content-part.ts"
import { EFFORTS } from "../../src/canonical/chat/reasoning-effort.ts"

/** The minter of the seals in the conversation. */
export const MINTER = "minter"

const name = fc.stringMatching(/^[a-z][a-z0-9_]{2,12}$/)
/** Texts that JSON, UTF-8 and escaping must get right. */
const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 })

interface NumberSequence {
  next(): number
}

/** Marks a text with a number of its own. */
const marked = (text: string, numbers: NumberSequence) => `⟨${numbers.next()}⟩${text}`

type NumberedArbitrary<Value> = fc.Arbitrary<(numbers: NumberSequence) => Value>

const text: NumberedArbitrary<ContentPart> = fc
  .record({ words, mark: fc.option(fc.constantFrom("5m", "1h") as fc.Arbitrary<"5m" | "1h">) })
  .map(({ words: content, mark }) => (numbers) => ({
    kind: "text",
    text: marked(content, numbers),
    ...(mark && { cacheMark: { ttl: mark } }),
  }))

const bytes = fc.uint8Array({ minLength: 3, maxLength: 12 })
const media: NumberedArbitrary<ContentPart> = fc
  .oneof(
    fc.record({ media: fc.constant("image" as const), mediaType: fc.constantFrom("image/png", "image/jpeg") }),
    fc.record({ media: fc.constant("document" as const), mediaType: fc.constant("application/pdf") }),
  )
  .chain((kind) => fc.tuple(fc.constant(kind), bytes))
  .map(([{ media: what, mediaType }, raw]) => (numbers): MediaPart => {
    const source = {
      at: "inline",
      mediaType,
      base64: Buffer.concat([Buffer.from(`${numbers.next()}.`), raw]).toString("base64"),
    } as const
    return { kind: "media", media: what, source, ...(what === "document" && { name: `file ${numbers.next()}` }) }
  })

const reasoning: NumberedArbitrary<ContentPart> = fc
  .record({ form: fc.constantFrom("full", "summary") as fc.Arbitrary<"full" | "summary">, words, sealed: fc.boolean() })
  .map(({ form, words: content, sealed }) => (numbers) => ({
    kind: "reasoning",
    form,
    text: marked(content, numbers),
    ...(sealed && { sealed: { mintedBy: MINTER, data: `seal${numbers.next()}` } }),
  }))

interface GeneratedExchange {
  readonly user: readonly ((numbers: NumberSequence) => ContentPart)[]
  readonly thoughts: readonly ((numbers: NumberSequence) => ContentPart)[]
  readonly hasText: boolean
  readonly calls: readonly {
    readonly tool: number
    readonly result: (numbers: NumberSequence) => ContentPart
    readonly isError: boolean
  }[]
}

const exchange: fc.Arbitrary<GeneratedExchange> = fc.record({
  user: fc.tuple(text, fc.array(fc.oneof(text, media), { maxLength: 2 })).map(([first, more]) => [first, ...more]),
  thoughts: fc.array(reasoning, { maxLength: 1 }),
  hasText: fc.boolean(),
  calls: fc.array(fc.record({ tool: fc.nat(3), result: fc.oneof(text, media), isError: fc.boolean() }), {
    maxLength: 2,
  }),
})

const tool: fc.Arbitrary<ToolDefinition> = fc
  .record({ name, description: words, required: fc.boolean() })
  .map((made) => ({
    kind: "function" as const,
    name: made.name,
    description: `${made.name} ${made.description}`,
    parameters: {
      type: "object",
      properties: { city: { type: "string", description: made.description } },
      ...(made.required && { required: ["city"] }),
    },
  }))
const tools = fc.uniqueArray(tool, { selector: (each) => each.name, minLength: 1, maxLength: 3 })

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
}

export const settings: fc.Arbitrary<ChatSettings> = fc
  .record(
    {
      maxOutputTokens: fc.integer({ min: 2048, max: 4000 }),
      temperature: fc.constantFrom(0, 0.5, 1, 1.5),
      topP: fc.constantFrom(0.1, 0.9),
      topK: fc.integer({ min: 1, max: 100 }),
      frequencyPenalty: fc.constantFrom(0.5, 1),
      presencePenalty: fc.constantFrom(0.5, 1),
      stop: fc.uniqueArray(fc.stringMatching(/^[A-Z]{3,6}$/), { minLength: 1, maxLength: 4 }),
      seed: fc.integer({ min: 1, max: 1000 }),
      candidates: fc.constantFrom(2, 3),
      logprobs: fc.integer({ min: 0, max: 5 }),
      format: fc.constantFrom<ChatSettings["format"][]>(
        { kind: "json" },
        { kind: "schema", name: "answer", schema: SCHEMA },
      ),
      reasoning: fc.record(
        {
          effort: fc.constantFrom(...EFFORTS),
          budgetTokens: fc.integer({ min: 1024, max: 2000 }),
          show: fc.constantFrom("full", "summary", "hidden"),
        },
        { requiredKeys: [] },
      ),
      parallelToolCalls: fc.boolean(),
      verbosity: fc.constantFrom("low", "medium", "high"),
      cacheKey: name,
      endUser: name,
    },
    { requiredKeys: [] },
  )
  .map((made) => made as ChatSettings)

const choice = (names: readonly string[]): fc.Arbitrary<ToolChoice | undefined> =>
  fc.constantFrom<(ToolChoice | undefined)[]>(
    undefined,
    { mode: "auto" },
    { mode: "none" },
    { mode: "required" },
    { mode: "tool", name: names[0] ?? "" },
  )

export interface ConversationLimits {
  /** Settings too; left out, none. */
  readonly settings?: fc.Arbitrary<ChatSettings>
}

export function conversations(limits: ConversationLimits = {}): fc.Arbitrary<ChatRequest> {
  const parts = {
    instructions: fc.array(text, { maxLength: 2 }),
    exchanges: fc.array(exchange, { maxLength: 2 }),
    last: text,
    tools,
    settings: limits.settings ?? fc.constant({}),
  }
  return fc.record(parts).chain((made) =>
    choice(made.tools.map((each) => each.name)).map((toolChoice) => {
      let number = 0
      const numbers = { next: () => number++ }
      const instructions = made.instructions.map((make, index) => ({ ...make(numbers), at: `instructions[${index}]` }))
      const turns = made.exchanges.flatMap((each) => turnsOf(each, made.tools, numbers))
      turns.push({ role: "user", parts: [made.last(numbers)] })
      return {
        model: "a/b",
        instructions,
        turns: turns.map(placed),
        tools: made.tools.map((each, index) => ({ ...each, at: `tools[${index}]` })),
        ...(toolChoice && { toolChoice }),
        settings: made.settings,
        stream: false,
        routing: { fallback: [] },
      }
    }),
  )
}

function turnsOf(
  { user, thoughts, hasText, calls }: GeneratedExchange,
  all: readonly ToolDefinition[],
  numbers: NumberSequence,
): ConversationTurn[] {
  const made = calls.map(({ tool: index, result, isError }) => {
    const { name: called } = all[index % all.length] as ToolDefinition
    const id = `call_${numbers.next()}`
    const args = JSON.stringify({ city: `⟨${numbers.next()}⟩` })
    const call: ContentPart = { kind: "tool-call", id, name: called, arguments: args, runsAt: "client" }
    const answer: ContentPart = { kind: "tool-result", callId: id, name: called, parts: [result(numbers)], isError }
    return { call, answer }
  })
  const answer: ContentPart[] = [
    ...thoughts.map((make) => make(numbers)),
    ...(hasText || made.length === 0 ? [{ kind: "text" as const, text: marked("so", numbers) }] : []),
    ...made.map(({ call }) => call),
  ]
  return [
    { role: "user", parts: user.map((make) => make(numbers)) },
    { role: "assistant", parts: answer },
    ...(made.length > 0 ? [{ role: "user" as const, parts: made.map(({ answer }) => answer) }] : []),
  ]
}

function placed(turn: ConversationTurn, index: number): ConversationTurn {
  const at = `messages[${index}]`
  return { ...turn, at, parts: turn.parts.map((part, place) => standing(part, `${at}.content[${place}]`)) }
}

function standing(part: ContentPart, at: string): ContentPart {
  if (part.kind !== "tool-result") return { ...part, at }
  return { ...part, at, parts: part.parts.map((inner, index) => standing(inner, `${at}.content[${index}]`)) }
}
