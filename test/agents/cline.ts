// Cline's command line, signed in to a provider of OpenAI's kind, by chat completions.
import { join } from "node:path"
import { modelOf } from "../conformance/axes.ts"
import type { CodingAgent } from "./agent.ts"
import { FILES, MENDED } from "./task.ts"

const ENVIRONMENT = { CLINE_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1" }

export const cline: CodingAgent = {
  name: "cline",
  version: "3.0.65",
  source: { npm: "cline", entry: "cline/bin/cline" },
  models: [
    { id: modelOf("anthropic-messages"), upstream: "anthropic-messages" },
    { id: modelOf("gemini-generate"), upstream: "gemini-generate" },
  ],
  setup: ({ gateway, key, model }) => ({
    words: ["auth", "-p", "openai-compatible", "-k", key, "-b", gateway.openai, "-m", model],
    environment: ENVIRONMENT,
  }),
  command: ({ model, prompt }) => ({
    words: ["-P", "openai-compatible", "-m", model, "--thinking", "high", prompt],
    environment: ENVIRONMENT,
  }),
  steps(folder) {
    const greeting = join(folder, MENDED.file)
    const notes = join(folder, "notes.txt")
    return [
      [
        { tool: "read_files", arguments: { files: [{ path: greeting }] }, resultText: FILES["greeting.txt"].trim() },
        { tool: "read_files", arguments: { files: [{ path: notes }] }, resultText: FILES["notes.txt"].trim() },
      ],
      [
        {
          tool: "editor",
          arguments: { path: greeting, old_text: MENDED.wrong, new_text: MENDED.right },
          resultText: "Edited",
        },
      ],
    ]
  },
}
