// npm run conformance: runs the matrix, prints the failures, and writes docs/conformance.md after a whole run of the
// project's own gateway. Exits with 1 if a cell fails.
import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { type CellName, CLIENTS, FEATURE_NAMES, modelOf, UPSTREAMS, type UpstreamProtocol } from "./axes.ts"
import type { GatewayAddress } from "./clients/client.ts"
import { CREDENTIAL, SERVED } from "./gateway-config.ts"
import { conformancePage, PAGE } from "./page.ts"
import { allCells, type CellResult, runCell } from "./run-cell.ts"
import { addressesAt, type MatrixStage, startHosts, startStage, stopHosts } from "./stage.ts"

const USAGE = `npm run conformance -- [--client PROTOCOL]… [--upstream PROTOCOL]… [--feature NAME]…
  [--base-url URL]… [--key KEY] [--ports N,N,N,N,N] [--upstreams-ready]

Without --base-url it starts its own gateway. With it, another one is tested, with this key: it must know the upstreams
and models that are printed. OpenAI's library uses URL/v1, Anthropic's URL/anthropic, Google's URL/gemini; for a gateway
with other paths, give --base-url openai=URL, anthropic=URL, gemini=URL, each in its library's form.
--ports fixes the upstreams' ports, in the order ${UPSTREAMS.join(", ")}.
--upstreams-ready means that the gateway is configured already; otherwise the run waits for a line on standard input.`

const OPTIONS = {
  client: { type: "string", multiple: true },
  upstream: { type: "string", multiple: true },
  feature: { type: "string", multiple: true },
  "base-url": { type: "string", multiple: true },
  key: { type: "string" },
  ports: { type: "string" },
  "upstreams-ready": { type: "boolean" },
} as const

function readFlags() {
  try {
    const { values } = parseArgs({ options: OPTIONS })
    known("client", values.client ?? []).among(CLIENTS)
    known("upstream", values.upstream ?? []).among(UPSTREAMS)
    known("feature", values.feature ?? []).among(FEATURE_NAMES)
    if (values["base-url"] && values.key === undefined) throw new Error("--base-url needs a --key")
    const gateway = values["base-url"] && addresses(values["base-url"])
    return { ...values, gateway, ports: values.ports === undefined ? [] : portNumbers(values.ports) }
  } catch (thrown) {
    console.error(`${thrown instanceof Error ? thrown.message : thrown}\n\n${USAGE}`)
    process.exit(2)
  }
}

function known(flag: string, given: readonly string[]) {
  return {
    among(names: readonly string[]): void {
      const unknown = given.filter((each) => !names.includes(each))
      if (unknown.length > 0) throw new Error(`--${flag} ${unknown.join(", ")} is none of: ${names.join(", ")}`)
    },
  }
}

function addresses(given: readonly string[]): GatewayAddress {
  const named = given.flatMap((each) => {
    const [, library, url] = /^(openai|anthropic|gemini)=(.+)$/.exec(each) ?? []
    return library === undefined ? [] : [[library, url] as const]
  })
  const base = given.find((each) => /^https?:/.test(each))
  if (base === undefined && named.length < 3) throw new Error("--base-url is an http:// or https:// address")
  return { ...addressesAt(base ?? ""), ...Object.fromEntries(named) }
}

function portNumbers(given: string): number[] {
  const ports = given.split(",").map(Number)
  const sound = ports.every((port) => Number.isInteger(port) && port > 0 && port < 65_536)
  if (!sound || ports.length !== UPSTREAMS.length) throw new Error(`--ports takes ${UPSTREAMS.length} numbers`)
  return ports
}

type MatrixFlags = ReturnType<typeof readFlags>

function wanted({ client, upstream, feature }: MatrixFlags): CellName[] {
  const among = (given: readonly string[] | undefined, name: string) => given?.includes(name) ?? true
  return allCells().filter(
    (cell) => among(client, cell.client) && among(upstream, cell.upstream) && among(feature, cell.feature),
  )
}

async function stageFor(upstreams: readonly UpstreamProtocol[], flags: MatrixFlags): Promise<MatrixStage> {
  const { gateway, key = "", ports } = flags
  if (!gateway) return startStage(upstreams)
  const hosts = await startHosts(upstreams, ports)
  console.log("Configure these upstreams in the gateway, and one model at each:\n")
  for (const [protocol, { origin }] of hosts) {
    const { type, model, baseUrl: address } = SERVED[protocol]
    console.log(`  ${modelOf(protocol)}: ${protocol} (${type}) at ${address(origin)}, there named ${model}`)
  }
  const { accessKeyId, secretAccessKey } = CREDENTIAL
  console.log(`\nTheir credential is ${secretAccessKey}; Bedrock's access key is ${accessKeyId} with it as secret.\n`)
  if (!flags["upstreams-ready"]) {
    console.log("Press Enter when they are configured.")
    for await (const _ of console) break
  }
  return { gateway, key, hosts, stop: () => stopHosts(hosts) }
}

function printResult(result: CellResult): void {
  if (result.status !== "fails") return
  console.log(`✗ ${result.client} → ${result.upstream}: ${result.feature}`)
  for (const problem of result.problems) console.log(`    ${problem}`)
}

const flags = readFlags()
const cells = wanted(flags)
const stage = await stageFor([...new Set(cells.map(({ upstream }) => upstream))], flags)
const results: CellResult[] = []
try {
  for (const cell of cells) {
    const result = await runCell(cell, stage)
    printResult(result)
    results.push(result)
  }
} finally {
  await stage.stop()
}
const count = (status: CellResult["status"]) => results.filter((result) => result.status === status).length
console.log(`${count("passes")} pass, ${count("refused")} are refused as documented, ${count("fails")} fail.`)
if (!flags.gateway && cells.length === allCells().length) {
  writeFileSync(PAGE, conformancePage(results))
}
process.exit(count("fails") === 0 ? 0 : 1)
