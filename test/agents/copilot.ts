// GitHub's Copilot CLI with a provider of one's own: no account, no network but the gateway; by chat completions.
import { join } from "node:path"
import { modelOf } from "../conformance/axes.ts"
import type { CodingAgent } from "./agent.ts"
import { FILES, MENDED } from "./task.ts"

export const copilot: CodingAgent = {
  name: "copilot",
  version: "1.0.102",
  source: { npm: "@github/copilot", entry: "@github/copilot/npm-loader.js" },
  models: [
    { id: modelOf("anthropic-messages"), upstream: "anthropic-messages" },
    { id: modelOf("gemini-generate"), upstream: "gemini-generate" },
  ],
  command: ({ gateway, key, model, prompt }) => ({
    words: ["-p", prompt, "--allow-all-tools", "--no-auto-update"],
    environment: {
      COPILOT_PROVIDER_BASE_URL: gateway.openai,
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_MODEL: model,
      COPILOT_OFFLINE: "true",
    },
  }),
  steps(folder) {
    const greeting = join(folder, MENDED.file)
    const notes = join(folder, "notes.txt")
    return [
      [
        { tool: "view", arguments: { path: greeting }, resultText: FILES["greeting.txt"].trim() },
        { tool: "view", arguments: { path: notes }, resultText: FILES["notes.txt"].trim() },
      ],
      [
        {
          tool: "edit",
          arguments: { path: greeting, old_str: MENDED.wrong, new_str: MENDED.right },
          resultText: "updated",
        },
      ],
    ]
  },
}
