// Gemini CLI, which uses generateContent.
import { join } from "node:path"
import { modelOf } from "../conformance/axes.ts"
import type { CodingAgent } from "./agent.ts"
import { FILES, MENDED } from "./task.ts"

/** Without a way to sign in that was chosen before, it takes another address for one that needs none, and refuses it. */
const SETTINGS = {
  security: { auth: { selectedType: "gemini-api-key" } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
}

export const gemini: CodingAgent = {
  name: "gemini",
  version: "0.61.0",
  source: { npm: "@google/gemini-cli", entry: "@google/gemini-cli/bundle/gemini.js" },
  models: [
    { id: modelOf("anthropic-messages"), upstream: "anthropic-messages" },
    { id: modelOf("openai-chat"), upstream: "openai-chat" },
  ],
  homeFiles: () => ({ ".gemini/settings.json": JSON.stringify(SETTINGS) }),
  command: ({ gateway, key, model, prompt }) => ({
    words: ["--skip-trust", "--yolo", "-m", model, "-p", prompt],
    environment: { GOOGLE_GEMINI_BASE_URL: gateway.gemini, GEMINI_API_KEY: key },
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
          tool: "replace",
          arguments: {
            file_path: greeting,
            instruction: "Mend the misspelt word.",
            old_string: MENDED.wrong,
            new_string: MENDED.right,
          },
          resultText: "modified",
        },
      ],
    ]
  },
}
