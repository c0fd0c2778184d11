// LangChain with the chat models of its three integrations, run by its agent.
import { ChatAnthropic } from "@langchain/anthropic"
import { ChatGoogleGenerativeAI } from "@langchain/google-genai"
import { ChatOpenAI } from "@langchain/openai"
import { AIMessageChunk, createAgent, tool } from "langchain"

const MAX_RETRIES = 0

/** Errors of the vendors' libraries pass as they are. */
const errors = {
  "wrong key": "AuthenticationError",
  "unknown model": "BadRequestError",
  "refused by the provider": "BadRequestError",
  "broken stream": "APIError",
}

function ask(modelOf) {
  return async (cell, job) => {
    const tools = cell.tools.map(({ name, description, schema }) =>
      tool((given) => cell.callTool(name, given), { name, description, schema }),
    )
    const agent = createAgent({ model: modelOf(cell, job), tools })
    const texts = []
    let reasoning = ""
    let messages = []
    for (const prompt of cell.prompts) {
      const before = messages.length
      messages = [...messages, { role: "user", content: prompt }]
      messages = cell.stream ? await streamed(agent, messages, cell) : (await agent.invoke({ messages })).messages
      texts.push(messages.at(-1).text)
      reasoning += messages.slice(before).map(thoughtsIn).join("")
    }
    return { texts, reasoning }
  }
}

async function streamed(agent, messages, cell) {
  let last
  cell.restart()
  for await (const [mode, value] of await agent.stream({ messages }, { streamMode: ["messages", "values"] })) {
    if (mode === "values") last = value.messages
    else if (value[0] instanceof AIMessageChunk) cell.onPiece(value[0].text)
  }
  return last
}

/** The places where the integrations keep thoughts: LangChain's own blocks, the vendor's, or the vendor's item. */
function thoughtsIn({ type, content, contentBlocks = [], additional_kwargs }) {
  if (type !== "ai") return ""
  const blocks = [...contentBlocks, ...(Array.isArray(content) ? content : [])]
  const summary = additional_kwargs?.reasoning?.summary ?? []
  return [...blocks.map((block) => block.reasoning ?? block.thinking ?? ""), ...summary.map(({ text }) => text)].join(
    "",
  )
}

const openai = (more) => (cell, job) =>
  new ChatOpenAI({
    model: cell.model,
    apiKey: cell.key,
    maxRetries: MAX_RETRIES,
    configuration: { baseURL: `${job.url}/v1` },
    ...more(cell),
  })

export const clients = [
  {
    name: "langchain-js openai chat",
    package: "@langchain/openai",
    api: "openai",
    errors,
    // The integration keeps no thoughts of chat completions.
    shows: () => false,
    ask: ask(openai(({ thinking }) => (thinking ? { reasoning: { effort: "high" } } : {}))),
  },
  {
    name: "langchain-js openai responses",
    package: "@langchain/openai",
    api: "openai",
    errors,
    ask: ask(
      openai(({ thinking }) => ({
        useResponsesApi: true,
        // Its own setting is sent only where it knows the model's name.
        ...(thinking && { modelKwargs: { reasoning: { effort: "high", summary: "auto" } } }),
      })),
    ),
  },
  {
    name: "langchain-js anthropic",
    package: "@langchain/anthropic",
    api: "anthropic",
    errors: { ...errors, "unknown model": "NotFoundError" },
    ask: ask(
      ({ model, key, thinking }, { url }) =>
        new ChatAnthropic({
          model,
          apiKey: key,
          maxRetries: MAX_RETRIES,
          anthropicApiUrl: `${url}/anthropic`,
          maxTokens: 8192,
          ...(thinking && { thinking: { type: "enabled", budget_tokens: 2048 } }),
        }),
    ),
  },
  {
    name: "langchain-js google-genai",
    package: "@langchain/google-genai",
    api: "gemini",
    errors: {
      "wrong key": "GoogleGenerativeAIFetchError",
      "unknown model": "GoogleGenerativeAIFetchError",
      "refused by the provider": "GoogleGenerativeAIFetchError",
      "broken stream": "GoogleGenerativeAIError",
    },
    ask: ask(
      ({ model, key, thinking }, { url }) =>
        new ChatGoogleGenerativeAI({
          model,
          apiKey: key,
          maxRetries: MAX_RETRIES,
          baseUrl: `${url}/gemini`,
          ...(thinking && { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } }),
        }),
    ),
  },
]
