// One agent, one model of another protocol, one task: the agent as a user runs it, in a folder and a home of its own.
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { addressesAt } from "../conformance/stage.ts"
import type { RunningGateway } from "../stage/gateway.ts"
import type { AgentCommand, AgentConnection, AgentModel, CodingAgent } from "./agent.ts"
import type { ScriptedModel } from "./scripted-model.ts"
import { LossTap } from "./tap.ts"
import { ANSWER, FILES, MENDED, PROMPT } from "./task.ts"

const TIME_LIMIT_MS = 120_000
/** The gateway gathers its log lines for a moment. */
const LOG_MS = 300

export interface RunOptions {
  readonly model: AgentModel
  readonly upstream: ScriptedModel
  readonly gateway: RunningGateway
  /** The words of the agent's program. */
  readonly program: readonly string[]
}

export interface RunResult {
  readonly problems: readonly string[]
  readonly requests: number
  /** The number of signatures in the model's answers. */
  readonly seals: number
  readonly losses: readonly string[]
  readonly durationMs: number
  /** The agent's output. */
  readonly output: string
}

export async function runAgent(
  agent: CodingAgent,
  { model, upstream, gateway, program }: RunOptions,
): Promise<RunResult> {
  const scratch = mkdtempSync(join(tmpdir(), `trivium-agent-${agent.name}-`))
  const tap = await LossTap.before(gateway.url)
  try {
    const pointed = { gateway: addressesAt(tap.url), key: gateway.key, model: model.id, prompt: PROMPT }
    const place = workplace(scratch, agent.homeFiles?.(pointed) ?? {})
    upstream.willDo(agent.steps(place.folder, model), agent.reply)
    const before = gateway.logged("exchange").length
    const startedAt = performance.now()
    const ended = await runCommands(agent, { pointed, program, place })
    const durationMs = performance.now() - startedAt
    await Bun.sleep(LOG_MS)
    const lines = gateway.logged("exchange").slice(before)
    const problems = [
      ...(ended.code === 0 ? [] : [ended.code === null ? "it did not end in time" : `it ended with ${ended.code}`]),
      ...wrongContent(join(place.folder, MENDED.file)),
      ...(isPrinted(ended.stdout) ? [] : [`it did not print “${ANSWER}”`]),
      ...(upstream.isDone ? [] : ["the model did not receive the result of its last call"]),
      ...upstream.faults,
      ...lines.flatMap((line) => refusal(line)),
      ...(lines.length > 0 ? [] : ["the gateway received no request"]),
    ]
    const seals = upstream.seals.size
    return { problems, requests: lines.length, seals, losses: [...tap.losses], durationMs, output: ended.output }
  } finally {
    await tap.stop()
    rmSync(scratch, { recursive: true, force: true })
  }
}

interface CommandPlace {
  readonly pointed: AgentConnection
  readonly program: readonly string[]
  readonly place: AgentWorkspace
}

async function runCommands(agent: CodingAgent, { pointed, program, place }: CommandPlace): Promise<FinishedProcess> {
  if (agent.setup) {
    const ready = await ran(agent.setup(pointed), { program, ...place })
    if (ready.code !== 0) return ready
  }
  return ran(agent.command(pointed), { program, ...place })
}

/** Whether an agent's output contains the answer, with any colours and line breaks. */
function isPrinted(stdout: string): boolean {
  return Bun.stripANSI(stdout).replace(/\s+/g, " ").includes(ANSWER)
}

interface AgentWorkspace {
  readonly folder: string
  readonly home: string
}

function workplace(scratch: string, homeFiles: Readonly<Record<string, string>>): AgentWorkspace {
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

interface FinishedProcess {
  readonly code: number | null
  readonly stdout: string
  /** Also what it printed as errors. */
  readonly output: string
}

/** Nothing of the environment reaches an agent, so that it cannot find a credential and call its vendor. */
function ran(
  { words, environment }: AgentCommand,
  { program: [file = "", ...before], folder, home }: AgentWorkspace & { program: readonly string[] },
): Promise<FinishedProcess> {
  const child = spawn(file, [...before, ...words], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: home, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  })
  let stdout = ""
  let output = ""
  child.stdout.on("data", (bytes) => {
    stdout += bytes
  })
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
      resolve({ code, stdout, output })
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
