// The agents come from npm or PyPI, in exact versions, into a folder outside the repository that later runs find again.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { CodingAgent } from "./agent.ts"

/** The words of its program, or why it cannot be installed. */
export type AgentInstallation = { readonly program: readonly string[] } | { readonly reason: string }

export function install({ name, version, source }: CodingAgent): AgentInstallation {
  const folder = join(tmpdir(), "trivium-agents", `${name}-${version}`)
  const program = programOf(source, folder)
  const done = join(folder, "installed")
  if (existsSync(done)) return { program }
  console.log(`installing ${name} ${version} in ${folder}`)
  mkdirSync(folder, { recursive: true })
  const failure =
    "npm" in source
      ? installFromNpm(`${source.npm}@${version}`, folder)
      : installFromPip(`${source.pip}==${version}`, folder)
  if (failure !== undefined) return { reason: `it cannot be installed: ${failure}` }
  writeFileSync(done, "")
  return { program }
}

function programOf(source: CodingAgent["source"], folder: string): string[] {
  if ("npm" in source) {
    const entry = join(folder, "node_modules", source.entry)
    if ("script" in source) return ["node", source.script, entry]
    return source.isNative ? [entry] : ["node", entry]
  }
  const commands = join(folder, "bin")
  return "script" in source ? [join(commands, "python"), source.script] : [join(commands, source.command)]
}

function installFromNpm(wanted: string, folder: string): string | undefined {
  const flags = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
  return run("npm", ["install", "--prefix", folder, ...flags, wanted])
}

function installFromPip(wanted: string, folder: string): string | undefined {
  const pip = [join(folder, "bin", "python"), ["-m", "pip", "install", "--quiet", wanted]] as const
  return run("python3", ["-m", "venv", "--clear", folder]) ?? run(...pip)
}

/** The end of what it printed where it failed; undefined where it did not. */
function run(program: string, words: readonly string[]): string | undefined {
  const { status, error, stderr } = spawnSync(program, words, { encoding: "utf8" })
  if (error) return error.message
  return status === 0 ? undefined : stderr.trim().split("\n").slice(-3).join(" / ")
}
