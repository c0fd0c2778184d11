// For the tests of this folder: loads a configuration from a text, through a real file.
import { afterAll } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { GatewayConfig } from "./config.ts"
import { ConfigError } from "./config-error.ts"
import { type ConfigSources, loadConfig } from "./load-config.ts"

/** The working directory; each test file has its own and leaves nothing behind. */
export const folder = mkdtempSync(join(tmpdir(), "trivium-config-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const knownProviders = [
  { id: "openai", environmentVariable: "OPENAI_API_KEY", baseUrl: "https://api.openai.com/v1" },
  { id: "anthropic", environmentVariable: "ANTHROPIC_API_KEY", baseUrl: "https://api.anthropic.com" },
  { id: "simulator", baseUrl: "simulator:" },
]

const knownModels = ["openai/gpt-4o", "openai/gpt-4o-mini"]

/** Loads with `yaml` as trivium.yaml; without one there is no file. */
export function load(yaml?: string, sources: Partial<ConfigSources> = {}): GatewayConfig {
  const file = join(folder, "trivium.yaml")
  if (yaml === undefined) rmSync(file, { force: true })
  else writeFileSync(file, yaml)
  return loadConfig({ flags: {}, environment: {}, workingDir: folder, knownProviders, knownModels, ...sources })
}

/** The lines of the error that loading throws. */
export function problems(yaml?: string, sources: Partial<ConfigSources> = {}): string[] {
  try {
    load(yaml, sources)
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split("\n")
    throw error
  }
  return []
}

/** A file with one valid model that has these members too. */
export const acme = (members: string) =>
  `models:\n  - id: acme/chat\n    targets: [{provider: openai, model: m}]\n    ${members}\n`
