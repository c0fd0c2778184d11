// npm run agents [-- NAME …]: real coding agents do a task through the gateway with models of other protocols. Exits
// with 1 if one fails.
import type { CodingAgent } from "./agent.ts"
import { type RunResult, runAgent } from "./agent-run.ts"
import { agents } from "./agents.ts"
import { install } from "./install.ts"
import { startStage } from "./stage.ts"

const names = process.argv.slice(2)
const unknown = names.filter((name) => !agents.some((agent) => agent.name === name))
if (unknown.length > 0) {
  console.error(`There is no agent ${unknown.join(", ")}. There are: ${agents.map(({ name }) => name).join(", ")}.`)
  process.exit(2)
}
const wanted = agents.filter(({ name }) => names.length === 0 || names.includes(name))

const counts = { passed: 0, failed: 0, skipped: 0 }
const stage = await startStage(wanted.flatMap(({ models }) => models))
try {
  for (const agent of wanted) await runWithModels(agent)
} finally {
  await stage.stop()
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1)

async function runWithModels(agent: CodingAgent): Promise<void> {
  const installed = install(agent)
  if ("reason" in installed) {
    counts.skipped += agent.models.length
    console.log(`- ${agent.name} ${agent.version}: skipped, because ${installed.reason}`)
    return
  }
  for (const model of agent.models) {
    const upstream = stage.upstreams[model.upstream]
    const { program } = installed
    const result = await runAgent(agent, { model, upstream, gateway: stage.gateway, program })
    printRun(`${agent.name} ${agent.version} with ${model.id}, at ${model.upstream}`, result)
    counts[result.problems.length > 0 ? "failed" : "passed"]++
  }
}

function printRun(title: string, { problems, requests, seals, losses, durationMs, output }: RunResult): void {
  const took = `${requests} requests in ${(durationMs / 1000).toFixed(1)} s, ${seals} signatures`
  const lost = losses.length === 0 ? "nothing lost" : `lost: ${losses.join(", ")}`
  console.log(`${problems.length === 0 ? "✓" : "✗"} ${title}: ${took}; ${lost}`)
  for (const problem of problems) console.log(`    ${problem}`)
  if (problems.length > 0) console.log(`    output:\n${output.trim().split("\n").slice(-20).join("\n")}`)
}
