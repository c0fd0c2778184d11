// Every vendor's own client library, in every version installed, as a reader of streams.
import type Anthropic from "@anthropic-ai/sdk"
import type { GoogleGenAI } from "@google/genai"
import type OpenAI from "openai"
import { ANTHROPIC_VERSIONS, hello } from "../end-to-end/anthropic-versions.ts"
import { VERSIONS } from "../end-to-end/client-versions.ts"
import { GENAI_VERSIONS } from "../end-to-end/genai-versions.ts"
import { ask, chat, geminiArray, geminiEvents, messages, responses, type WireDialect } from "./wire-dialects.ts"

interface ClientAddress {
  readonly url: string
  readonly key: string
}

/** Asks a question and reads the answer to its end; what it raises is the library's own. */
type StreamRead = (question: string) => Promise<string>

export interface StreamReader {
  readonly name: string
  readonly dialect: WireDialect
  at(address: ClientAddress): StreamRead
}

const model = "test/model"

function chatReader({ name, OpenAI: Client }: (typeof VERSIONS)[number]): StreamReader {
  const read = async (client: OpenAI, question: string) => {
    let text = ""
    const body = { model, messages: [{ role: "user" as const, content: question }], stream: true as const }
    for await (const { choices } of await client.chat.completions.create(body)) {
      text += choices[0]?.delta.content ?? ""
    }
    return text
  }
  const at = ({ url, key }: ClientAddress): StreamRead => {
    const client = new Client({ baseURL: `${url}/v1`, apiKey: key })
    return (question) => read(client, question)
  }
  return { name: `${name}, chat`, dialect: chat, at }
}

function responsesReader({ name, OpenAI: Client }: (typeof VERSIONS)[number]): StreamReader {
  const read = async (client: OpenAI, question: string) => {
    let text = ""
    for await (const event of await client.responses.create({ model, input: question, stream: true })) {
      if (event.type === "response.output_text.delta") text += event.delta
    }
    return text
  }
  const at = ({ url, key }: ClientAddress): StreamRead => {
    const client = new Client({ baseURL: `${url}/v1`, apiKey: key })
    return (question) => read(client, question)
  }
  return { name: `${name}, responses`, dialect: responses, at }
}

function messagesReader({ name, Anthropic: Client }: (typeof ANTHROPIC_VERSIONS)[number]): StreamReader {
  const read = async (client: Anthropic, question: string) => {
    let text = ""
    for await (const event of await client.messages.create({ ...hello(model, question), stream: true })) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text
    }
    return text
  }
  const at = ({ url, key }: ClientAddress): StreamRead => {
    const client = new Client({ apiKey: key, baseURL: `${url}/anthropic` })
    return (question) => read(client, question)
  }
  return { name, dialect: messages, at }
}

function geminiReader({ name, GoogleGenAI: Client }: (typeof GENAI_VERSIONS)[number]): StreamReader {
  const read = async (client: GoogleGenAI, contents: string) => {
    let text = ""
    for await (const chunk of await client.models.generateContentStream({ model, contents })) text += chunk.text ?? ""
    return text
  }
  const at = ({ url, key }: ClientAddress): StreamRead => {
    const client = new Client({ apiKey: key, httpOptions: { baseUrl: `${url}/gemini` } })
    return (question) => read(client, question)
  }
  return { name, dialect: geminiEvents, at }
}

interface GeminiArrayElement {
  readonly error?: { readonly message: string }
  readonly candidates?: { readonly content: { readonly parts: { readonly text: string }[] } }[]
}

/** No library reads arrays; a client parses them whole, and finds the error as an element. */
const arrayReader: StreamReader = {
  name: "a reader of arrays",
  dialect: geminiArray,
  at: (address) => async (question) => {
    const response = await ask(geminiArray, address, { question, streamed: true })
    const elements = [JSON.parse(await response.text())].flat() as GeminiArrayElement[]
    const failed = elements.find(({ error }) => error)
    if (failed) throw new Error(failed.error?.message)
    return elements.map(({ candidates }) => candidates?.[0]?.content.parts[0]?.text ?? "").join("")
  },
}

export const STREAM_READERS: readonly StreamReader[] = [
  ...VERSIONS.map(chatReader),
  ...VERSIONS.map(responsesReader),
  ...ANTHROPIC_VERSIONS.map(messagesReader),
  ...GENAI_VERSIONS.map(geminiReader),
  arrayReader,
]
