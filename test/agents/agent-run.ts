// One agent, one model of another protocol, one task: the agent as a user runs it, in a folder and a home of its own.
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { addressesAt } from "../matrix/stage.ts"
import type { RunningGateway } from "../stage/gateway.ts"
import type { Agent, AgentModel, Command } from "./agent.ts"
import type { ScriptedModel } from "./scripted-model.ts"
import { Tap } from "./tap.ts"
import { FILES, MENDED, PROMPT } from "./task.ts"

const TIME_LIMIT_MS = 120_000
/** The gateway gathers its log lines for a moment. */
const LOG_MS = 300

export interface RunOptions {
  readonly model: AgentModel
  readonly upstream: ScriptedModel
  readonly gateway: RunningGateway
  /** The agent's program. */
  readonly entry: string
}

export interface RunResult {
  readonly problems: readonly string[]
  readonly requests: number
  /** How many signatures the model has put on what it said. */
  readonly seals: number
  readonly losses: readonly string[]
  readonly durationMs: number
  /** What the agent printed. */
  readonly output: string
}

export async function runAgent(agent: Agent, { model, upstream, gateway, entry }: RunOptions): Promise<RunResult> {
  const scratch = mkdtempSync(join(tmpdir(), `trivium-agent-${agent.name}-`))
  const tap = await Tap.before(gateway.url)
  try {
    const place = workplace(scratch, agent.homeFiles)
    upstream.willDo(agent.steps(place.folder, model))
    const before = gateway.logged("exchange").length
    const startedAt = performance.now()
    const pointed = { gateway: addressesAt(tap.url), key: gateway.key, model: model.id, prompt: PROMPT }
    const ended = await ran(agent.command(pointed), { entry, ...place })
    const durationMs = performance.now() - startedAt
    await Bun.sleep(LOG_MS)
    const lines = gateway.logged("exchange").slice(before)
    const problems = [
      ...(ended.code === 0 ? [] : [ended.code === null ? "it did not end in time" : `it ended with ${ended.code}`]),
      ...wrongContent(join(place.folder, MENDED.file)),
      ...(upstream.isDone ? [] : ["the model was not told that its last call is done"]),
      ...upstream.faults,
      ...lines.flatMap((line) => refusal(line)),
      ...(lines.length > 0 ? [] : ["the gateway heard nothing of it"]),
    ]
    const seals = upstream.seals.size
    return { problems, requests: lines.length, seals, losses: [...tap.losses], durationMs, output: ended.output }
  } finally {
    await tap.stop()
    rmSync(scratch, { recursive: true, force: true })
  }
}

interface Workplace {
  readonly folder: string
  readonly home: string
}

function workplace(scratch: string, homeFiles: Readonly<Record<string, string>>): Workplace {
  const folder = join(scratch, "work")
  const home = join(scratch, "home")
  const files = [
    ...Object.entries(FILES).map(([name, content]) => [join(folder, name), content] as const),
    ...Object.entries(homeFiles).map(([name, content]) => [join(home, name), content] as const),
  ]
  mkdirSync(home, { recursive: true })
  for (const [path, content] of files) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
  spawnSync("git", ["init", "--quiet", folder])
  return { folder, home }
}

/** Nothing of the environment reaches an agent, so that it cannot find a credential and call its vendor. */
function ran(
  { words, environment }: Command,
  { entry, folder, home }: Workplace & { entry: string },
): Promise<{ code: number | null; output: string }> {
  const child = spawn("node", [entry, ...words], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: home, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (bytes) => {
      output += bytes
    })
  }
  const endAll = () => {
    try {
      // The agents start processes of their own; all are of the child's group.
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
    } catch {
      // They have ended already.
    }
  }
  const timer = setTimeout(endAll, TIME_LIMIT_MS)
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code) => {
      clearTimeout(timer)
      endAll()
      resolve({ code, output })
    })
  })
}

function wrongContent(file: string): string[] {
  const content = readFileSync(file, "utf8")
  return content === MENDED.content ? [] : [`${MENDED.file} holds ${JSON.stringify(content)}`]
}

function refusal(line: Record<string, unknown>): string[] {
  const { route, status, outcome, error_code } = line
  const isFine = Number(status) < 400 && outcome === "answered"
  return isFine ? [] : [`the gateway: ${route} ended ${outcome} with ${status} ${error_code ?? ""}`]
}
