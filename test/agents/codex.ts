// Codex, which uses OpenAI's Responses protocol. Its tools depend on the model's name: for known models it has a patch
// tool with text input, otherwise patches go through the shell and other tools are in a namespace.
import { modelOf } from "../conformance/axes.ts"
import type { CodingAgent } from "./agent.ts"
import { FILES, MENDED, type ToolUse } from "./task.ts"

const UPSTREAMS = ["anthropic-messages", "openai-chat"] as const

/** Codex goes by the beginning of the name that follows the slash. */
const KNOWN = "agents/gpt-5.5-at-"

const PATCH = `*** Begin Patch
*** Update File: ${MENDED.file}
@@
-${FILES["greeting.txt"].trim()}
+${MENDED.content.trim()}
*** End Patch
`

export const codex: CodingAgent = {
  name: "codex",
  version: "0.166.0",
  source: { npm: "@openai/codex", entry: "@openai/codex/bin/codex.js" },
  models: UPSTREAMS.flatMap((upstream) => [
    { id: modelOf(upstream), upstream },
    { id: KNOWN + upstream, upstream },
  ]),
  command: ({ gateway, key, model, prompt }) => ({
    words: [
      "exec",
      "--skip-git-repo-check",
      // The folder is a scratch one, and a sandbox inside a container often cannot be made.
      "--dangerously-bypass-approvals-and-sandbox",
      ...["-c", 'model_provider="trivium"'],
      ...[
        "-c",
        `model_providers.trivium={name="Trivium",base_url="${gateway.openai}",env_key="TRIVIUM_KEY",wire_api="responses"}`,
      ],
      ...["-c", "analytics.enabled=false"],
      ...["-m", model],
      prompt,
    ],
    environment: { TRIVIUM_KEY: key },
  }),
  steps(_, { id }) {
    const isKnown = id.startsWith(KNOWN)
    const reading = [
      shell("cat greeting.txt", FILES["greeting.txt"].trim()),
      shell("cat notes.txt", FILES["notes.txt"].trim()),
    ]
    const mending = isKnown ? patch() : shell(`apply_patch <<'EOF'\n${PATCH}EOF`, "Success")
    return [isKnown ? reading : [...reading, ofNamespace()], [mending]]
  },
}

function shell(cmd: string, resultText: string): ToolUse {
  return { tool: "exec_command", arguments: { cmd }, resultText }
}

/** To a model of another protocol a tool of plain text is a function of one string. */
function patch(): ToolUse {
  return { tool: "apply_patch", arguments: { input: PATCH }, resultText: "Success" }
}

/** A tool of a namespace. There is no such agent, and only the tool itself reports that. */
function ofNamespace(): ToolUse {
  const target = "nobody"
  return { tool: "multi_agent_v1__close_agent", arguments: { target }, resultText: `invalid agent id ${target}` }
}
