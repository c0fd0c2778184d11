// Claude Code, which speaks Anthropic's messages.
import { join } from "node:path"
import { modelOf } from "../matrix/axes.ts"
import type { Agent } from "./agent.ts"
import { FILES, MENDED } from "./task.ts"

export const claude: Agent = {
  name: "claude",
  version: "2.1.325",
  // The package's own command is put in place by an install script, which is not run.
  source: { npm: "@anthropic-ai/claude-code", entry: "@anthropic-ai/claude-code/cli-wrapper.cjs" },
  models: [
    { id: modelOf("openai-chat"), upstream: "openai-chat" },
    { id: modelOf("gemini-generate"), upstream: "gemini-generate" },
  ],
  command: ({ gateway, key, model, prompt }) => ({
    words: ["-p", prompt, "--model", model, "--permission-mode", "acceptEdits"],
    environment: {
      ANTHROPIC_BASE_URL: gateway.anthropic,
      ANTHROPIC_API_KEY: key,
      // What it asks a smaller model for goes to the same one.
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_TELEMETRY: "1",
    },
  }),
  steps(folder) {
    const greeting = join(folder, MENDED.file)
    const notes = join(folder, "notes.txt")
    return [
      [
        { tool: "Read", arguments: { file_path: greeting }, tells: FILES["greeting.txt"].trim() },
        { tool: "Read", arguments: { file_path: notes }, tells: FILES["notes.txt"].trim() },
      ],
      [
        {
          tool: "Edit",
          arguments: { file_path: greeting, old_string: MENDED.wrong, new_string: MENDED.right, replace_all: false },
          tells: "updated",
        },
      ],
    ]
  },
}
