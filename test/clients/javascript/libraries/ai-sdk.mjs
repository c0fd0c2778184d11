// Vercel's AI SDK, three majors, with each of its three providers: the SDK itself runs the tools and keeps the conversation.
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import * as sdk7 from "ai"
import * as sdk5 from "ai5"
import { createAnthropic as createAnthropic5 } from "ai5-anthropic"
import { createGoogleGenerativeAI as createGoogle5 } from "ai5-google"
import { createOpenAI as createOpenAI5 } from "ai5-openai"
import * as sdk6 from "ai6"
import { createAnthropic as createAnthropic6 } from "ai6-anthropic"
import { createGoogleGenerativeAI as createGoogle6 } from "ai6-google"
import { createOpenAI as createOpenAI6 } from "ai6-openai"

const errors = {
  "wrong key": "AI_APICallError",
  "unknown model": "AI_APICallError",
  "refused by the provider": "AI_APICallError",
  "broken stream": "error part",
}

const thinking = {
  openai: { reasoningEffort: "high", reasoningSummary: "auto", forceReasoning: true },
  anthropic: { thinking: { type: "enabled", budgetTokens: 2048 } },
  google: { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } },
}

/** An error that came as a part of the stream, as the SDK documents it. */
class StreamFailure {
  constructor(error) {
    this.cause = error
    this.message = String(error?.message ?? JSON.stringify(error))
  }
}

function ask(sdk, modelOf) {
  return async (cell, job) => {
    const tools = Object.fromEntries(
      cell.tools.map(({ name, description, schema }) => [
        name,
        sdk.tool({
          description,
          inputSchema: sdk.jsonSchema(schema),
          execute: (given) => cell.callTool(name, given),
        }),
      ]),
    )
    const settings = {
      model: modelOf(cell, job),
      maxRetries: 0,
      stopWhen: sdk.stepCountIs?.(5) ?? sdk.isStepCount(5),
      ...(cell.tools.length > 0 && { tools }),
      ...(cell.thinking && { providerOptions: thinking }),
    }
    const messages = []
    const texts = []
    let reasoning = ""
    for (const prompt of cell.prompts) {
      messages.push({ role: "user", content: prompt })
      cell.restart()
      const answer = cell.stream
        ? await streamed(sdk, { ...settings, messages }, cell)
        : await whole(sdk, { ...settings, messages })
      messages.push(...answer.messages)
      texts.push(answer.text)
      reasoning += answer.reasoning
    }
    return { texts, reasoning }
  }
}

async function whole(sdk, settings) {
  const { text, steps, response } = await sdk.generateText(settings)
  const reasoning = steps.map((step) => step.reasoningText ?? "").join("")
  return { text, reasoning, messages: response.messages }
}

async function streamed(sdk, settings, cell) {
  let failure
  const result = sdk.streamText({ ...settings, onError: ({ error }) => (failure = error) })
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") cell.onPiece(part.text ?? part.delta)
    if (part.type === "error") failure = part.error
  }
  if (failure !== undefined) throw new StreamFailure(failure)
  const finish = await result.finishReason
  // The Google provider does not read the vendor's error events: the answer ends without a reason.
  if (finish !== "stop") throw new StreamFailure(`the answer ended with the reason ${finish}`)
  const steps = await result.steps
  const reasoning = steps.map((step) => step.reasoningText ?? "").join("")
  const { messages } = await result.response
  return { text: await result.text, reasoning, messages }
}

const openaiAt =
  (create) =>
  (cell, { url }) =>
    create({ baseURL: `${url}/v1`, apiKey: cell.key })
const versions = [
  { major: 5, sdk: sdk5, openai: createOpenAI5, anthropic: createAnthropic5, google: createGoogle5, package: "ai5" },
  { major: 6, sdk: sdk6, openai: createOpenAI6, anthropic: createAnthropic6, google: createGoogle6, package: "ai6" },
  {
    major: 7,
    sdk: sdk7,
    openai: createOpenAI,
    anthropic: createAnthropic,
    google: createGoogleGenerativeAI,
    package: "ai",
  },
]

export const clients = versions.flatMap(({ major, sdk, openai, anthropic, google, package: source }) => {
  const common = {
    package: source,
    errors,
    errorClass: (error) => (error instanceof StreamFailure ? "error part" : error?.name),
  }
  return [
    {
      ...common,
      name: `ai-sdk ${major} openai`,
      api: "openai",
      // Version 5 asks for thoughts only where it knows the model's name, and has no way to insist.
      shows: () => major > 5,
      ask: ask(sdk, (cell, job) => openaiAt(openai)(cell, job)(cell.model)),
    },
    {
      ...common,
      name: `ai-sdk ${major} openai.chat`,
      api: "openai",
      // The provider has no place for thoughts of chat completions.
      shows: () => false,
      ask: ask(sdk, (cell, job) => openaiAt(openai)(cell, job).chat(cell.model)),
    },
    {
      ...common,
      name: `ai-sdk ${major} anthropic`,
      api: "anthropic",
      ask: ask(sdk, ({ key, model }, { url }) => anthropic({ baseURL: `${url}/anthropic/v1`, apiKey: key })(model)),
    },
    {
      ...common,
      name: `ai-sdk ${major} google`,
      api: "gemini",
      ask: ask(sdk, ({ key, model }, { url }) => google({ baseURL: `${url}/gemini/v1beta`, apiKey: key })(model)),
    },
  ]
})
