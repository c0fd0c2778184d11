// Continue's command line, with a model of OpenAI's kind in its settings, by chat completions.
import { join } from "node:path"
import { modelOf } from "../conformance/axes.ts"
import type { CodingAgent } from "./agent.ts"
import { FILES, MENDED, type ToolUse } from "./task.ts"

export const continueCli: CodingAgent = {
  name: "continue",
  version: "1.5.47",
  source: { npm: "@continuedev/cli", entry: "@continuedev/cli/dist/cn.js" },
  models: [
    { id: modelOf("anthropic-messages"), upstream: "anthropic-messages" },
    { id: modelOf("gemini-generate"), upstream: "gemini-generate" },
  ],
  homeFiles: ({ gateway, key, model }) => ({
    ".continue/trivium.yaml": `name: Trivium
version: 0.0.1
schema: v1
models:
  - name: ${model}
    provider: openai
    model: ${model}
    apiBase: ${gateway.openai}
    apiKey: ${key}
    capabilities: [tool_use]
    roles: [chat]
`,
  }),
  command: ({ prompt }) => ({
    words: ["-p", prompt, "--auto", "--config", "../home/.continue/trivium.yaml"],
    environment: { CONTINUE_TELEMETRY_ENABLED: "0" },
  }),
  steps(folder, { id }) {
    const greeting = join(folder, MENDED.file)
    const notes = join(folder, "notes.txt")
    return [
      [
        { tool: "Read", arguments: { filepath: greeting }, resultText: FILES["greeting.txt"].trim() },
        { tool: "Read", arguments: { filepath: notes }, resultText: FILES["notes.txt"].trim() },
      ],
      [editing(greeting, id)],
    ]
  },
}

/** It chooses its tool for edits by the model's name. */
function editing(file: string, model: string): ToolUse {
  const edit = { old_string: MENDED.wrong, new_string: MENDED.right }
  const resultText = "Successfully edited"
  if (!model.includes("gemini")) return { tool: "Edit", arguments: { file_path: file, ...edit }, resultText }
  return { tool: "MultiEdit", arguments: { file_path: file, edits: [edit] }, resultText }
}
