// Answers as OpenAI's responses interface writes them, whole and streamed, for the scripted upstream.

const ID = "resp_68af4030592c81938ec0a5fbab4a3e9f05438e46b5f69a3b"
const ITEM = "msg_68af4033e89c8193a2e4a5f9fe63bb5e05438e46b5f69a3b"

/** A response of one message. */
export function responseObject(text: string, extra: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: ID,
    object: "response",
    created_at: 1_756_315_696,
    status: "completed",
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    model: "upstream-model-2026-01-01",
    output: [message(text, "completed")],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled",
    usage: {
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 12,
    },
    user: null,
    metadata: {},
    ...extra,
  }
}

function message(text: string, status: string): Record<string, unknown> {
  const content = status === "completed" ? [part(text)] : []
  return { id: ITEM, type: "message", status, content, role: "assistant" }
}

function part(text: string): Record<string, unknown> {
  return { type: "output_text", annotations: [], logprobs: [], text }
}

export function responseEvent(type: string, sequence_number: number, members: Record<string, unknown>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...members })}\n\n`
}

/** The events of a whole streamed response, a word each. */
export function responseWords(text: string): string[] {
  const words = text.match(/\s*\S+/g) ?? []
  const begun = responseObject("", { status: "in_progress", output: [], usage: null })
  const at = { item_id: ITEM, output_index: 0, content_index: 0 }
  const events: [string, Record<string, unknown>][] = [
    ["response.created", { response: begun }],
    ["response.in_progress", { response: begun }],
    ["response.output_item.added", { output_index: 0, item: message("", "in_progress") }],
    ["response.content_part.added", { ...at, part: part("") }],
    ...words.map((delta): [string, Record<string, unknown>] => {
      return ["response.output_text.delta", { ...at, delta, logprobs: [], obfuscation: "Xb2kQ" }]
    }),
    ["response.output_text.done", { ...at, text, logprobs: [] }],
    ["response.content_part.done", { ...at, part: part(text) }],
    ["response.output_item.done", { output_index: 0, item: message(text, "completed") }],
    ["response.completed", { response: responseObject(text) }],
  ]
  return events.map(([type, members], index) => responseEvent(type, index, members))
}

/** `responseWords` up to the last word. */
export function responseHalf(text: string): string[] {
  return responseWords(text).slice(0, -4)
}
