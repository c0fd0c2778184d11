// Answers as Anthropic writes them, whole and streamed, for the scripted upstream.

/** A message of one text block. */
export function anthropicMessage(text: string, extra: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    model: "upstream-model-20260101",
    id: "msg_01XFDUDYJgAACzvnptvVoYEL",
    type: "message",
    role: "assistant",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: USAGE,
    ...extra,
  }
}

const USAGE = { input_tokens: 9, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 3 }

export function anthropicEvent(type: string, members: Record<string, unknown> = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
}

const start = anthropicEvent("message_start", {
  message: anthropicMessage("", { content: [], stop_reason: null, usage: { ...USAGE, output_tokens: 1 } }),
})

/** The events of a whole streamed message, a word each. */
export function anthropicWords(text: string): string[] {
  const words = text.match(/\s*\S+/g) ?? []
  return [
    start,
    anthropicEvent("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    anthropicEvent("ping"),
    ...words.map((word) =>
      anthropicEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text: word } }),
    ),
    anthropicEvent("content_block_stop", { index: 0 }),
    anthropicEvent("message_delta", {
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: 3 },
    }),
    anthropicEvent("message_stop"),
  ]
}

/** `anthropicWords` up to the last word. */
export function anthropicHalf(text: string): string[] {
  return anthropicWords(text).slice(0, -3)
}
