// Google's own client library, as the suites use it: its newest version, and the last of the first line.
import {
  ApiError,
  type Content,
  type GenerateContentConfig,
  type GenerateContentResponse,
  GoogleGenAI,
} from "@google/genai"
import { ApiError as ApiError1, GoogleGenAI as GoogleGenAI1 } from "genai1"

interface GenaiVersion {
  readonly name: string
  readonly GoogleGenAI: typeof GoogleGenAI
  readonly ApiError: typeof ApiError
}

export const GENAI_VERSIONS: readonly GenaiVersion[] = [
  { name: "genai 2", GoogleGenAI, ApiError },
  {
    name: "genai 1",
    // Its types differ in what the suites do not use.
    GoogleGenAI: GoogleGenAI1 as unknown as typeof GoogleGenAI,
    ApiError: ApiError1 as unknown as typeof ApiError,
  },
]

/** Asks one model, and reads a stream of it to its end. */
export function asking(client: () => GoogleGenAI, model: string) {
  return {
    ask: (contents: string | Content[], config: GenerateContentConfig = {}) =>
      client().models.generateContent({ model, contents, config }),
    async streamed(contents: string, config: GenerateContentConfig = {}) {
      const chunks: GenerateContentResponse[] = []
      for await (const chunk of await client().models.generateContentStream({ model, contents, config })) {
        chunks.push(chunk)
      }
      return chunks
    },
  }
}

/** The error's body: this client keeps the JSON as its message. */
export function errorDetails(error: unknown): { code?: unknown; status?: unknown; message?: unknown } {
  const message = error instanceof Error ? error.message : ""
  return withOurCode(JSON.parse(message.slice(message.indexOf("{"))).error)
}

/** An error of the vendor's own path with our code, from its details, in the place of the number. */
export function withOurCode(error: { code: unknown; details?: readonly { reason: string }[] }): object {
  if (!Number.isInteger(error.code)) throw new Error(`the vendor's clients lose an error with the code ${error.code}`)
  return { ...error, code: error.details?.[0]?.reason }
}
