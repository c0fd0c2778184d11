// The agents come from npm, in exact versions, into a folder outside the repository that later runs find again.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Agent } from "./agent.ts"

/** The file to run. */
export function install({ name, package: source, version, entry }: Agent): string {
  const folder = join(tmpdir(), "trivium-agents", `${name}-${version}`)
  const installed = join(folder, "node_modules", source)
  if (versionIn(installed) !== version) {
    console.log(`installing ${source}@${version} in ${folder}`)
    mkdirSync(folder, { recursive: true })
    const flags = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    const { status, stderr } = spawnSync("npm", ["install", "--prefix", folder, ...flags, `${source}@${version}`])
    if (status !== 0) throw new Error(`npm could not install ${source}@${version}: ${stderr}`)
  }
  return join(installed, entry)
}

function versionIn(folder: string): string | undefined {
  const manifest = join(folder, "package.json")
  return existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")).version : undefined
}
