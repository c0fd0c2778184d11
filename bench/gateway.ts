// Starts the gateway under test as an operator would: a configuration file, a key, the launcher.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type BenchCandidate, freePort, type StartOptions, waitFor } from "./candidate.ts"
import { fillStore } from "./filled-store.ts"
import { childPids } from "./process-stat.ts"
import type { BenchProtocol } from "./protocols.ts"

export const GATEWAY_MODEL = "bench/fixed"

const ownRoot = join(import.meta.dir, "..")

type GatewayVariant = {
  /** The client's protocol, and the upstream's. */
  wire: BenchProtocol
  behind: BenchProtocol
  name: "unbooked" | "gateway" | "filled" | "translated" | "before"
  /** The checkout whose gateway it is; left out, this one. */
  root?: string
  /** Without it, nothing is charged or limited. */
  books: boolean
  /** The content of its store before it starts. */
  filled?: { keys: number; rows: number }
}

export async function startGateway(
  { wire, behind, name, books, filled, root = ownRoot }: GatewayVariant,
  { children, upstreamPort, folder, cpu }: StartOptions,
): Promise<BenchCandidate> {
  const home = join(folder, name)
  const data = join(home, "data")
  mkdirSync(data, { recursive: true })
  const config = join(home, "trivium.yaml")
  writeFileSync(config, configuration(behind, upstreamPort))
  const env = scratchEnvironment(home)
  const keys = filled ? await fillStore({ data, ...filled }) : []
  const launcher = join(root, "bin", "trivium.mjs")
  const key = createKey(data, { env, books, root })
  const port = freePort()
  // In a folder without another configuration.
  const log = join(folder, `${name}.log`)
  const address = ["--host", "127.0.0.1", "--port", String(port), "--admin-port", "0"]
  const command = books
    ? ["node", launcher, "serve", ...address, "--data", data, "--config", config]
    : ["node", join(root, "scripts", "bun.mjs"), join(import.meta.dir, "unbooked.ts"), String(port), data, config]
  const child = children.spawn(command, { cpu, cwd: home, env, log })
  const pid = await waitFor("the gateway", () => {
    const output = readFileSync(log, "utf8")
    if (output.includes(`listening on http://127.0.0.1:${port}`)) return childPids(child.pid)[0]
    throw new Error(`its output so far: ${output.slice(-2000)}`)
  })
  return { name, port, headers: { authorization: `Bearer ${key}`, ...wire.headers }, keys, pid }
}

/** Nothing of the caller's shell may change what is measured. */
export function scratchEnvironment(home: string): Record<string, string> {
  return { PATH: process.env.PATH ?? "", HOME: home, npm_config_update_notifier: "false" }
}

/** Limits that are far away, but counted. */
const LIMITS = ["--rpm", "1000000000", "--tpm", "1000000000", "--concurrent", "1000000"]

interface KeyOptions {
  readonly env: Record<string, string>
  readonly books: boolean
  readonly root: string
}

function createKey(data: string, { env, books, root }: KeyOptions): string {
  const words = ["keys", "create", "--name", "bench", "--data", data, "--json", ...(books ? LIMITS : [])]
  const { stdout, stderr, exitCode } = Bun.spawnSync(["node", join(root, "bin", "trivium.mjs"), ...words], {
    cwd: root,
    env,
  })
  if (exitCode !== 0) throw new Error(`cannot create a key: ${stderr.toString().slice(-2000)}`)
  const { key } = JSON.parse(stdout.toString()) as { key?: string }
  if (!key) throw new Error("the new key is not in the command's output")
  return key
}

function configuration({ protocol, type, base }: BenchProtocol, upstreamPort: number): string {
  return `defaults: { requests_per_minute: none }
providers:
  bench: { type: ${type}, protocols: [${protocol}], base_url: "http://127.0.0.1:${upstreamPort}${base}", api_key: "upstream-secret" }
models:
  - id: ${GATEWAY_MODEL}
    kind: chat
    context_window: 131072
    max_output_tokens: 8192
    pricing: { input: "1", output: "2" }
    targets: [{ provider: bench, model: fixed-upstream }]
`
}
