// Google's library, two majors.
import { GoogleGenAI } from "@google/genai"
import { GoogleGenAI as GoogleGenAI1 } from "genai1"

const errors = {
  "wrong key": "ApiError",
  "unknown model": "ApiError",
  "refused by the provider": "ApiError",
  "broken stream": "ApiError",
}

function generate(Library) {
  return async (cell, { url, timeoutMs }) => {
    const google = new Library({ apiKey: cell.key, httpOptions: { baseUrl: `${url}/gemini`, timeout: timeoutMs } })
    const declarations = cell.tools.map(({ name, description, schema }) => ({
      name,
      description,
      parametersJsonSchema: schema,
    }))
    const contents = []
    const texts = []
    let reasoning = ""
    for (const prompt of cell.prompts) {
      contents.push({ role: "user", parts: [{ text: prompt }] })
      for (;;) {
        cell.restart()
        const config = {
          ...(declarations.length > 0 && { tools: [{ functionDeclarations: declarations }] }),
          ...(cell.thinking && { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } }),
        }
        const parts = await partsOf(google, { model: cell.model, contents, config }, cell)
        contents.push({ role: "model", parts })
        reasoning += textOf(parts, { thought: true })
        const calls = parts.flatMap(({ functionCall }) => functionCall ?? [])
        if (calls.length === 0) {
          texts.push(textOf(parts, { thought: false }))
          break
        }
        const results = calls.map(({ id, name, args }) => ({
          functionResponse: { ...(id && { id }), name, response: { output: cell.callTool(name, args) } },
        }))
        contents.push({ role: "user", parts: results })
      }
    }
    return { texts, reasoning }
  }
}

async function partsOf(google, request, cell) {
  if (!cell.stream) return (await google.models.generateContent(request)).candidates[0].content.parts
  const parts = []
  for await (const chunk of await google.models.generateContentStream(request)) {
    const more = chunk.candidates?.[0]?.content?.parts ?? []
    parts.push(...more)
    cell.onPiece(textOf(more, { thought: false }))
  }
  return parts
}

function textOf(parts, { thought }) {
  return parts.map((part) => ((part.thought ?? false) === thought ? (part.text ?? "") : "")).join("")
}

export const clients = [
  { name: "genai-js 2", package: "@google/genai", api: "gemini", errors, ask: generate(GoogleGenAI) },
  { name: "genai-js 1", package: "genai1", api: "gemini", errors, ask: generate(GoogleGenAI1) },
]
