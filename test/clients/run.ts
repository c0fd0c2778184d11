// npm run clients: holds every scenario with every library and model, prints what fails, and ends with the counts.
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { parseArgs } from "node:util"
import { RunningGateway } from "../stage/gateway.ts"
import { type ClientObservation, cellTag } from "./cell.ts"
import { problemsOf } from "./judge.ts"
import { type DriverCommand, languages } from "./languages.ts"
import { clientsConfig, models } from "./models.ts"
import { ScenarioHost } from "./scenario-host.ts"
import { scenarios, UNKNOWN_MODEL } from "./scenarios.ts"

const USAGE = `npm run clients -- [--language NAME]… [--library PART_OF_A_NAME] [--model PART] [--scenario PART] [--verbose]
Languages: ${languages.map(({ name }) => name).join(", ")}.`

const CALL_TIMEOUT_MS = 30_000

const { values: flags } = parseArgs({
  options: {
    language: { type: "string", multiple: true },
    library: { type: "string" },
    model: { type: "string" },
    scenario: { type: "string" },
    verbose: { type: "boolean" },
    help: { type: "boolean" },
  },
})
if (flags.help) {
  console.log(USAGE)
  process.exit(0)
}

const counts = { passed: 0, failed: 0, skipped: 0 }
const host = await ScenarioHost.start()
const gateway = await RunningGateway.start({ config: clientsConfig(host.origin) })
try {
  for (const language of languages.filter(({ name }) => flags.language?.includes(name) ?? true)) {
    const prepared = language.prepare()
    if ("reason" in prepared) {
      counts.skipped++
      console.log(`- ${language.name}: skipped, because ${prepared.reason}`)
    } else await drive(language.name, prepared)
  }
  for (const fault of host.faults.get("no cell") ?? []) fail("the scripted host", [`was sent ${fault}`])
} finally {
  await gateway.stop()
  await host.stop()
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1)

async function drive(language: string, { words }: DriverCommand): Promise<void> {
  const [program = "", ...rest] = words
  const child = spawn(program, rest, { stdio: ["pipe", "pipe", "inherit"] })
  child.stdin.end(
    JSON.stringify({ url: gateway.url, timeoutMs: CALL_TIMEOUT_MS, library: flags.library, cells: cells() }),
  )
  const tallies = new Map<string, { passed: number; all: number; version: string }>()
  for await (const line of createInterface({ input: child.stdout })) {
    const observation = JSON.parse(line) as ClientObservation
    const isFine = settle(observation)
    const { library, version } = observation
    const tally = tallies.get(library) ?? { passed: 0, all: 0, version }
    tallies.set(library, { version, passed: tally.passed + (isFine ? 1 : 0), all: tally.all + 1 })
  }
  const code = child.exitCode ?? (await new Promise((resolve) => child.once("exit", resolve)))
  if (code !== 0) fail(`the driver for ${language}`, [`ended with ${code}`])
  for (const [library, { passed, all, version }] of tallies) {
    console.log(`${passed === all ? "✓" : "✗"} ${library} (${version}): ${passed} of ${all}`)
  }
}

/** The drivers' input: the client's side of each scenario, with each model. */
function cells(): object[] {
  const chosen = scenarios.filter(({ name }) => name.includes(flags.scenario ?? ""))
  return chosen.flatMap(({ name, steps: _, failure, ...question }) => {
    const cause = failure?.cause
    const names = cause === "unknown model" ? [UNKNOWN_MODEL] : Object.keys(models)
    const key = cause === "wrong key" ? gateway.key.replace(/.{6}$/, "000000") : gateway.key
    const wanted = names.filter((model) => cause === "unknown model" || model.includes(flags.model ?? ""))
    return wanted
      .slice(0, cause === "wrong key" ? 1 : undefined)
      .map((model) => ({ model, scenario: name, key, ...question, failure: cause }))
  })
}

function settle(observation: ClientObservation): boolean {
  const tag = cellTag(observation)
  const scenario = scenarios.find(({ name }) => name === observation.scenario)
  if (!scenario) throw new Error(`a driver reports an unknown scenario: ${observation.scenario}`)
  if (observation.skipped !== undefined) {
    counts.skipped++
    console.log(`- ${tag}: skipped, because ${observation.skipped}`)
    return true
  }
  const faults = [...(host.faults.get(tag) ?? [])].map((fault) => `the provider saw: ${fault}`)
  const problems = [...problemsOf(observation, scenario), ...faults]
  if (problems.length > 0) fail(tag, problems)
  else counts.passed++
  if (flags.verbose) console.log(JSON.stringify(observation))
  return problems.length === 0
}

function fail(title: string, problems: readonly string[]): void {
  counts.failed++
  console.log(`✗ ${title}`)
  for (const problem of problems) console.log(`    ${problem.slice(0, 600)}`)
}
