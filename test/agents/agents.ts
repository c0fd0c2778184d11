// The list of coding agents.
import type { CodingAgent } from "./agent.ts"
import { aider } from "./aider.ts"
import { claude, claudeAgentSdk, claudeAgentSdkPython } from "./claude.ts"
import { cline } from "./cline.ts"
import { codex } from "./codex.ts"
import { continueCli } from "./continue.ts"
import { copilot } from "./copilot.ts"
import { gemini } from "./gemini.ts"
import { opencode } from "./opencode.ts"
import { qwen } from "./qwen.ts"

export const agents: readonly CodingAgent[] = [
  claude,
  claudeAgentSdk,
  claudeAgentSdkPython,
  codex,
  gemini,
  opencode,
  qwen,
  cline,
  continueCli,
  copilot,
  aider,
]
