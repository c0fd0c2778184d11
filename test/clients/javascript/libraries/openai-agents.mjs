// OpenAI's Agents SDK, over responses and over chat completions: the SDK runs the tools and keeps the conversation.
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents"

setTracingDisabled(true)

function ask({ useResponses }) {
  return async (cell, { url }) => {
    const modelProvider = new OpenAIProvider({ baseURL: `${url}/v1`, apiKey: cell.key, useResponses })
    const agent = new Agent({
      name: "Scenario",
      model: cell.model,
      tools: cell.tools.map(({ name, description, schema }) =>
        tool({
          name,
          description,
          parameters: { additionalProperties: true, ...schema },
          strict: false,
          execute: (given) => cell.callTool(name, given),
        }),
      ),
      modelSettings: {
        retry: { maxRetries: 0 },
        ...(cell.thinking && { reasoning: { effort: "high", ...(useResponses && { summary: "auto" }) } }),
      },
    })
    const runner = new Runner({ modelProvider, tracingDisabled: true })
    const texts = []
    let reasoning = ""
    let history = []
    for (const prompt of cell.prompts) {
      cell.restart()
      const result = await runner.run(agent, [...history, { role: "user", content: prompt }], { stream: cell.stream })
      if (cell.stream) {
        for await (const event of result) {
          if (event.type !== "raw_model_stream_event") continue
          if (event.data.type === "response_started") cell.restart()
          if (event.data.type === "output_text_delta") cell.onPiece(event.data.delta)
        }
        await result.completed
        if (result.error) throw result.error
      }
      texts.push(result.finalOutput)
      history = result.history
      reasoning += result.newItems.map(thoughtsIn).join("")
    }
    return { texts, reasoning }
  }
}

function thoughtsIn({ rawItem }) {
  if (rawItem?.type !== "reasoning") return ""
  return [...(rawItem.content ?? []), ...(rawItem.rawContent ?? [])].map(({ text }) => text).join("")
}

const errors = {
  "wrong key": "AuthenticationError",
  "unknown model": "BadRequestError",
  "refused by the provider": "BadRequestError",
  "broken stream": "APIError",
}

export const clients = [
  {
    name: "openai-agents-js responses",
    package: "@openai/agents",
    api: "openai",
    errors: { ...errors, "broken stream": "ModelBehaviorError" },
    ask: ask({ useResponses: true }),
  },
  {
    name: "openai-agents-js chat",
    package: "@openai/agents",
    api: "openai",
    errors,
    // In chat completions the SDK reads thoughts only from another gateway's member, `reasoning`.
    shows: () => false,
    ask: ask({ useResponses: false }),
  },
]
