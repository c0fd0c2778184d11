// Finds the Bun that npm installed for this platform and says how to start it. Any Node from 18 on can run this file.
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)

/** The path of the Bun binary, or an Error that says how to get it. */
export function findBun() {
  const names = packageNames()
  for (const name of names) {
    const path = resolveBinary(name)
    if (path) return path
  }
  throw new Error(
    `Trivium runs on Bun, which npm installs as an optional dependency, but ${names.join(" or ")} is not there.\n` +
      "Install again without --omit=optional, on the platform that will run it: npm ci",
  )
}

/**
 * Arguments that keep Bun from reading `bunfig.toml` and `.env` of the working directory: a stranger's files there
 * must not change how the gateway runs.
 */
export const isolation = [`--config=${join(root, "bin", "bunfig.toml")}`, "--no-env-file"]

/** What Bun must find in its environment before it starts. */
export const environment = {
  // Its fetch runs at most 256 requests at once otherwise.
  BUN_CONFIG_MAX_HTTP_REQUESTS: "20000",
  // The garbage of 32 MB is collected at once, not of 8: a server makes much of it, and keeps almost nothing.
  BUN_JSC_largeHeapSize: "33554432",
  // What was compiled is kept: the same code is run for weeks, and would be thrown away and compiled again and again.
  BUN_JSC_forceCodeBlockLiveness: "1",
  // Memory that is free goes back to the system after three seconds, not at once: most of it is soon needed again.
  MIMALLOC_PURGE_DELAY: "3000",
}

export const entry = join(root, "src", "main.ts")

function packageNames() {
  const system = process.platform === "win32" ? "windows" : process.platform
  const machine = process.arch === "arm64" ? "aarch64" : process.arch
  const base = `@oven/bun-${system}-${machine}`
  if (system !== "linux") return [base]
  return isMusl() ? [`${base}-musl`, base] : [base, `${base}-musl`]
}

function isMusl() {
  return !process.report?.getReport().header.glibcVersionRuntime
}

function resolveBinary(name) {
  try {
    const folder = dirname(require.resolve(`${name}/package.json`))
    const path = join(folder, "bin", process.platform === "win32" ? "bun.exe" : "bun")
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}
