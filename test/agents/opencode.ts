// opencode with an OpenAI-compatible provider in its settings, over chat completions.
import { join } from "node:path"
import { modelOf } from "../conformance/axes.ts"
import type { CodingAgent } from "./agent.ts"
import { FILES, MENDED } from "./task.ts"

export const opencode: CodingAgent = {
  name: "opencode",
  version: "1.18.33",
  // The package's own command is put in place by an install script, which is not run.
  source: { npm: "opencode-ai", entry: `opencode-${process.platform}-${process.arch}/bin/opencode`, isNative: true },
  models: [
    { id: modelOf("anthropic-messages"), upstream: "anthropic-messages" },
    { id: modelOf("gemini-generate"), upstream: "gemini-generate" },
  ],
  homeFiles: ({ gateway, model }) => ({
    ".config/opencode/opencode.json": JSON.stringify({
      provider: {
        trivium: {
          npm: "@ai-sdk/openai-compatible",
          name: "Trivium",
          options: { baseURL: gateway.openai, apiKey: "{env:TRIVIUM_KEY}" },
          models: { [model]: { name: model, reasoning: true, tool_call: true } },
        },
      },
      autoupdate: false,
      share: "disabled",
    }),
  }),
  command: ({ key, model, prompt }) => ({
    words: ["run", "--auto", "--model", `trivium/${model}`, prompt],
    environment: { TRIVIUM_KEY: key, OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1" },
  }),
  steps(folder) {
    const greeting = join(folder, MENDED.file)
    const notes = join(folder, "notes.txt")
    return [
      [
        { tool: "read", arguments: { filePath: greeting }, resultText: FILES["greeting.txt"].trim() },
        { tool: "read", arguments: { filePath: notes }, resultText: FILES["notes.txt"].trim() },
      ],
      [
        {
          tool: "edit",
          arguments: { filePath: greeting, oldString: MENDED.wrong, newString: MENDED.right },
          resultText: "success",
        },
      ],
    ]
  },
}
