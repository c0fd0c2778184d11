// Anthropic's library, two majors.
import Anthropic from "@anthropic-ai/sdk"
import Anthropic0 from "anthropic0"

const errors = {
  "wrong key": "AuthenticationError",
  "unknown model": "NotFoundError",
  "refused by the provider": "BadRequestError",
  "broken stream": "APIError",
}

function messages(Library) {
  return async (cell, { url, timeoutMs }) => {
    const anthropic = new Library({ baseURL: `${url}/anthropic`, apiKey: cell.key, maxRetries: 0, timeout: timeoutMs })
    const tools = cell.tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema }))
    const conversation = []
    const texts = []
    let reasoning = ""
    for (const prompt of cell.prompts) {
      conversation.push({ role: "user", content: prompt })
      for (;;) {
        cell.restart()
        const body = {
          model: cell.model,
          max_tokens: 8192,
          messages: conversation,
          ...(tools.length > 0 && { tools }),
          ...(cell.thinking && { thinking: { type: "enabled", budget_tokens: 2048 } }),
        }
        const { content } = cell.stream ? await streamed(anthropic, body, cell) : await anthropic.messages.create(body)
        conversation.push({ role: "assistant", content })
        reasoning += content.map(({ thinking = "" }) => thinking).join("")
        const calls = content.filter(({ type }) => type === "tool_use")
        if (calls.length === 0) {
          // Many users read the last block, and Anthropic's own answers end in text.
          texts.push(content.at(-1).text)
          break
        }
        const results = calls.map(({ id, name, input }) => ({
          type: "tool_result",
          tool_use_id: id,
          content: cell.callTool(name, input),
        }))
        conversation.push({ role: "user", content: results })
      }
    }
    return { texts, reasoning }
  }
}

async function streamed(anthropic, body, cell) {
  const stream = anthropic.messages.stream(body)
  for await (const event of stream) {
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") cell.onPiece(event.delta.text)
  }
  return stream.finalMessage()
}

export const clients = [
  { name: "anthropic-js 1", package: "@anthropic-ai/sdk", api: "anthropic", errors, ask: messages(Anthropic) },
  { name: "anthropic-js 0", package: "anthropic0", api: "anthropic", errors, ask: messages(Anthropic0) },
]
