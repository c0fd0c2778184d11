// The coding agents that are run.
import type { Agent } from "./agent.ts"
import { claude } from "./claude.ts"
import { codex } from "./codex.ts"
import { gemini } from "./gemini.ts"

export const agents: readonly Agent[] = [claude, codex, gemini]
