// Claude Code, which uses Anthropic's Messages protocol, and the Agent SDKs, which run it inside other programs.
import { join } from "node:path"
import { modelOf } from "../conformance/axes.ts"
import type { AgentCommand, AgentConnection, CodingAgent } from "./agent.ts"
import { FILES, MENDED, type ToolSteps } from "./task.ts"

const common = {
  models: [
    { id: modelOf("openai-chat"), upstream: "openai-chat" },
    { id: modelOf("gemini-generate"), upstream: "gemini-generate" },
  ],
  steps: stepsIn,
} as const

export const claude: CodingAgent = {
  ...common,
  name: "claude",
  version: "2.1.325",
  // The package's own command is put in place by an install script, which is not run.
  source: { npm: "@anthropic-ai/claude-code", entry: "@anthropic-ai/claude-code/cli-wrapper.cjs" },
  command: ({ prompt, ...pointed }) => ({
    words: ["-p", prompt, "--model", pointed.model, "--permission-mode", "acceptEdits"],
    environment: environmentFor(pointed),
  }),
}

export const claudeAgentSdk: CodingAgent = {
  ...common,
  name: "claude-agent-sdk",
  version: "0.3.325",
  source: {
    npm: "@anthropic-ai/claude-agent-sdk",
    entry: "@anthropic-ai/claude-agent-sdk/sdk.mjs",
    script: join(import.meta.dir, "claude-agent-sdk.mjs"),
  },
  command: ({ prompt, ...pointed }) => ({
    words: [pointed.model, prompt],
    environment: environmentFor(pointed),
  }),
}

export const claudeAgentSdkPython: CodingAgent = {
  ...claudeAgentSdk,
  name: "claude-agent-sdk-python",
  version: "0.2.182",
  source: { pip: "claude-agent-sdk", script: join(import.meta.dir, "claude-agent-sdk.py") },
}

function environmentFor({ gateway, key, model }: Omit<AgentConnection, "prompt">): AgentCommand["environment"] {
  return {
    ANTHROPIC_BASE_URL: gateway.anthropic,
    ANTHROPIC_API_KEY: key,
    // Requests for a smaller model go to the same one.
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_TELEMETRY: "1",
  }
}

function stepsIn(folder: string): ToolSteps {
  const greeting = join(folder, MENDED.file)
  const notes = join(folder, "notes.txt")
  return [
    [
      { tool: "Read", arguments: { file_path: greeting }, resultText: FILES["greeting.txt"].trim() },
      { tool: "Read", arguments: { file_path: notes }, resultText: FILES["notes.txt"].trim() },
    ],
    [
      {
        tool: "Edit",
        arguments: { file_path: greeting, old_string: MENDED.wrong, new_string: MENDED.right, replace_all: false },
        resultText: "updated",
      },
    ],
  ]
}
