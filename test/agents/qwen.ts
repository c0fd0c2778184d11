// Qwen Code, by chat completions.
import { join } from "node:path"
import { modelOf } from "../conformance/axes.ts"
import type { CodingAgent } from "./agent.ts"
import { FILES, MENDED } from "./task.ts"

const SETTINGS = { privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false } }

export const qwen: CodingAgent = {
  name: "qwen",
  version: "0.24.4",
  source: { npm: "@qwen-code/qwen-code", entry: "@qwen-code/qwen-code/cli-entry.js" },
  models: [
    { id: modelOf("anthropic-messages"), upstream: "anthropic-messages" },
    { id: modelOf("gemini-generate"), upstream: "gemini-generate" },
  ],
  homeFiles: () => ({ ".qwen/settings.json": JSON.stringify(SETTINGS) }),
  command: ({ gateway, key, model, prompt }) => ({
    words: ["--auth-type", "openai", "--yolo", "-m", model, prompt],
    environment: { OPENAI_BASE_URL: gateway.openai, OPENAI_API_KEY: key },
  }),
  steps(folder) {
    const greeting = join(folder, MENDED.file)
    const notes = join(folder, "notes.txt")
    return [
      [
        { tool: "read_file", arguments: { file_path: greeting }, resultText: FILES["greeting.txt"].trim() },
        { tool: "read_file", arguments: { file_path: notes }, resultText: FILES["notes.txt"].trim() },
      ],
      [
        {
          tool: "edit",
          arguments: { file_path: greeting, old_string: MENDED.wrong, new_string: MENDED.right },
          resultText: "updated",
        },
      ],
    ]
  },
}
