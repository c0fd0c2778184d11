// Every member of a chat request that the gateway checks: valid values, bounds, and values beyond them.

type JsonType = "string" | "number" | "boolean" | "array" | "object"

export interface ChatField {
  /** The path in the error. */
  readonly path: string
  readonly takes: readonly JsonType[]
  readonly required?: true
  /** Values of a right type that are wrong all the same. */
  readonly wrong?: readonly unknown[]
  /** The outermost values that are right. */
  readonly bounds?: readonly unknown[]
}

/** A request that holds every member in `FIELDS`, each with a right value. */
export const fullRequest = {
  model: "test/model",
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      ],
    },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "a picture" },
  ],
  temperature: 1,
  top_p: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
  max_tokens: 10,
  max_completion_tokens: 10,
  n: 1,
  stop: ["END"],
  stream: false,
  stream_options: { include_usage: false },
  tools: [{ type: "function", function: { name: "look", description: "Looks.", parameters: { type: "object" } } }],
  tool_choice: { type: "function", function: { name: "look" } },
  response_format: { type: "json_schema", json_schema: { name: "shape", schema: { type: "object" } } },
  provider: { routing: "cost", fallback: ["test/model"] },
}

const CALL = "messages[1].tool_calls[0]"
const TOOL = "tools[0]"

export const FIELDS: readonly ChatField[] = [
  { path: "model", takes: ["string"], required: true, wrong: [""] },
  { path: "messages", takes: ["array"], required: true, wrong: [[]] },
  { path: "messages[0]", takes: ["object"], wrong: [null] },
  { path: "messages[0].role", takes: ["string"], required: true, wrong: ["king", ""] },
  { path: "messages[0].content", takes: ["string", "array"], required: true, bounds: ["", []] },
  { path: "messages[0].content[0]", takes: ["object"], wrong: [null] },
  { path: "messages[0].content[0].type", takes: ["string"], required: true },
  { path: "messages[0].content[0].text", takes: ["string"], required: true, bounds: [""] },
  { path: "messages[0].content[1].image_url", takes: ["object", "string"], required: true },
  { path: "messages[0].content[1].image_url.url", takes: ["string"], required: true },
  { path: "messages[1].tool_calls", takes: ["array"] },
  { path: CALL, takes: ["object"], wrong: [null] },
  { path: `${CALL}.id`, takes: ["string"] },
  { path: `${CALL}.function`, takes: ["object"] },
  { path: `${CALL}.function.name`, takes: ["string"], required: true },
  { path: `${CALL}.function.arguments`, takes: ["string"], bounds: ["not JSON"] },
  { path: "messages[2].tool_call_id", takes: ["string"], required: true },
  { path: "messages[2].content", takes: ["string", "array"], required: true },
  { path: "temperature", takes: ["number"], wrong: [-0.1, 2.1, -1e300, 1e300], bounds: [0, 2] },
  { path: "top_p", takes: ["number"], wrong: [-0.1, 1.1], bounds: [0, 1] },
  { path: "frequency_penalty", takes: ["number"], wrong: [-2.1, 2.1], bounds: [-2, 2] },
  { path: "presence_penalty", takes: ["number"], wrong: [-2.1, 2.1], bounds: [-2, 2] },
  { path: "max_tokens", takes: ["number"], wrong: [0, -1, 1.5, 0.999], bounds: [1] },
  { path: "max_completion_tokens", takes: ["number"], wrong: [0, -1, 1.5], bounds: [1] },
  { path: "n", takes: ["number"], wrong: [0, -1, 1.5], bounds: [1] },
  { path: "stop", takes: ["string", "array"], bounds: ["END", []] },
  { path: "stop[0]", takes: ["string"], wrong: [null] },
  { path: "stream", takes: ["boolean"] },
  { path: "stream_options", takes: ["object"] },
  { path: "stream_options.include_usage", takes: ["boolean"], bounds: [true] },
  { path: "tools", takes: ["array"] },
  { path: TOOL, takes: ["object"], wrong: [null] },
  { path: `${TOOL}.type`, takes: ["string"] },
  { path: `${TOOL}.function`, takes: ["object"], required: true },
  { path: `${TOOL}.function.name`, takes: ["string"], required: true, wrong: [""] },
  { path: `${TOOL}.function.description`, takes: ["string"] },
  { path: `${TOOL}.function.parameters`, takes: ["object"] },
  { path: "tool_choice", takes: ["string", "object"], bounds: ["auto", "none", "required", "any"] },
  { path: "tool_choice.type", takes: ["string"] },
  { path: "response_format", takes: ["object"] },
  {
    path: "response_format.type",
    takes: ["string"],
    required: true,
    wrong: ["xml", ""],
    bounds: ["text", "json_object"],
  },
  { path: "response_format.json_schema", takes: ["object"], required: true },
  { path: "response_format.json_schema.name", takes: ["string"], required: true },
  { path: "response_format.json_schema.schema", takes: ["object"] },
  { path: "provider", takes: ["object"] },
  { path: "provider.routing", takes: ["string"], wrong: ["luck", ""], bounds: ["latency", "quality"] },
  { path: "provider.fallback", takes: ["array"], wrong: [Array(6).fill("test/model")], bounds: [[]] },
  { path: "provider.fallback[0]", takes: ["string"], wrong: ["", null] },
]

/** The members that may be left out. */
export const NULLABLE = FIELDS.filter(({ required, path }) => !required && !path.endsWith("]")).map(({ path }) => path)

const SAMPLES: Readonly<Record<JsonType, readonly unknown[]>> = {
  string: ["text"],
  number: [7],
  boolean: [true, false],
  array: [[], [1]],
  object: [{}, { text: "x" }],
}

/** Everything a member must refuse; `null` where it is required. */
export function wrongValues({ takes, required, wrong = [] }: ChatField): unknown[] {
  const others = Object.entries(SAMPLES).filter(([type]) => !takes.includes(type as JsonType))
  return [...others.flatMap(([, samples]) => samples), ...wrong, ...(required ? [null] : [])]
}

export const absent = Symbol("absent")

/** A copy of `body` with another value at `path`, or with nothing there. */
export function withValue(body: unknown, path: string, value: unknown): unknown {
  const copy = structuredClone(body)
  const names = path.split(/[.[\]]+/).filter((name) => name !== "")
  const last = names.pop() ?? ""
  const owner = names.reduce((inner, name) => inner[name] as FieldTree, copy as FieldTree)
  if (value === absent) delete owner[last]
  else owner[last] = value
  return copy
}

interface FieldTree {
  [name: string]: unknown
}
