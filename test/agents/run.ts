// npm run agents [-- claude|codex|gemini …]: real coding agents do a task through the gateway with models of other
// protocols. Ends with 1 where one does not.
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
const programs = wanted.map((agent) => ({ agent, entry: install(agent) }))

let failed = 0
const stage = await startStage(wanted.flatMap(({ models }) => models))
try {
  for (const { agent, entry } of programs) {
    for (const model of agent.models) {
      const upstream = stage.upstreams[model.upstream]
      const result = await runAgent(agent, { model, upstream, gateway: stage.gateway, entry })
      tell(`${agent.name} ${agent.version} with ${model.id}, at ${model.upstream}`, result)
      if (result.problems.length > 0) failed++
    }
  }
} finally {
  await stage.stop()
}
console.log(failed === 0 ? "Every agent did its task." : `${failed} did not.`)
process.exit(failed === 0 ? 0 : 1)

function tell(title: string, { problems, requests, seals, losses, durationMs, output }: RunResult): void {
  const took = `${requests} requests in ${(durationMs / 1000).toFixed(1)} s, ${seals} signatures`
  const lost = losses.length === 0 ? "nothing lost" : `lost: ${losses.join(", ")}`
  console.log(`${problems.length === 0 ? "✓" : "✗"} ${title}: ${took}; ${lost}`)
  for (const problem of problems) console.log(`    ${problem}`)
  if (problems.length > 0) console.log(`    it printed:\n${output.trim().split("\n").slice(-20).join("\n")}`)
}
