// JSON schemas in the wrapping that OpenAI's parse and stream helpers need, without its schema libraries.

export const SCHEMA = {
  type: "object",
  properties: {
    city: { type: "string" },
    celsius: { type: "number", minimum: -90.5 },
    sky: { type: "string", enum: ["clear", "grey"] },
    days: { type: "array", items: { type: "integer" }, minItems: 1, maxItems: 3 },
  },
  required: ["city", "celsius", "sky", "days"],
  additionalProperties: false,
} as const

const parsed = {
  __output: undefined as unknown,
  $brand: "auto-parseable-response-format",
  $parseRaw: (text: string): unknown => JSON.parse(text),
} as const

/** For chat completions. */
export const CHAT_FORMAT = {
  type: "json_schema",
  json_schema: { name: "weather", strict: true, schema: SCHEMA },
  ...parsed,
} as const

/** For responses. */
export const TEXT_FORMAT = { type: "json_schema", name: "weather", strict: true, schema: SCHEMA, ...parsed } as const

/** Whether a value is valid by the schema. */
export function fits(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false
  const { city, celsius, sky, days, ...others } = value as Record<string, unknown>
  if (Object.keys(others).length > 0 || !Array.isArray(days) || days.length < 1 || days.length > 3) return false
  const measured = typeof city === "string" && typeof celsius === "number" && celsius >= -90.5
  return measured && (sky === "clear" || sky === "grey") && days.every(Number.isInteger)
}
