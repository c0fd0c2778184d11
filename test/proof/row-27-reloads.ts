// A configuration file written carelessly under load: in place, emptied, truncated, deleted, unreadable, renamed over.
// Every request that the configuration allows is still answered by its provider.
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { completion, ScriptedUpstream } from "../stage/upstream.ts"
import type { ProofFigure, ProofRow } from "./row.ts"
import { SeededRandom } from "./seeded-random.ts"

const CALLERS = 8
const WRITE_EVERY_MS = 130
/** Longer than a content needs to settle. */
const SETTLED_MS = 350

interface ReloadStorm {
  readonly file: string
  readonly random: SeededRandom
  /** A whole, valid configuration, another each time. */
  readonly next: () => string
}

type ReloadAction = (storm: ReloadStorm) => void | Promise<void>

const write: ReloadAction = ({ file, next }) => writeFileSync(file, next())

/** Content that replaces the file for a while. */
function instead(put: (file: string) => void): ReloadAction {
  return async (storm) => {
    const { file, random } = storm
    rmSync(file, { force: true })
    put(file)
    await setTimeout(random.below(SETTLED_MS))
    rmSync(file, { recursive: true, force: true })
    write(storm)
  }
}

/** In two pieces, as a slow copy writes it. */
const copySlowly: ReloadAction = async ({ file, random, next }) => {
  const text = next()
  writeFileSync(file, text.slice(0, text.indexOf("providers:") + "providers:\n".length))
  await setTimeout(random.below(SETTLED_MS))
  writeFileSync(file, text)
}

const replace: ReloadAction = ({ file, next }) => {
  writeFileSync(`${file}.next`, next())
  renameSync(`${file}.next`, file)
}

const ACTS: readonly ReloadAction[] = [
  copySlowly,
  replace,
  instead((file) => writeFileSync(file, "")),
  instead((file) => writeFileSync(file, "providers:\n")),
  instead(() => {}),
  instead((file) => mkdirSync(file)),
  instead((file) => symlinkSync("trivium.yaml", file)),
]

interface ReloadAnswers {
  served: number
  readonly others: string[]
}

async function keepAsking(
  gateway: RunningGateway,
  { answers, isOver }: { answers: ReloadAnswers; isOver: () => boolean },
) {
  while (!isOver()) {
    const answer = await gateway.chat({ model: "test/model", messages: [{ role: "user", content: "hi" }] })
    const text = await answer.text()
    const provider = answer.headers.get("x-gateway-provider")
    if (answer.status === 200 && provider === "scripted") answers.served++
    else answers.others.push(`${answer.status} by ${provider}: ${text.slice(0, 200)}`)
  }
}

async function run(gateway: RunningGateway, { baseUrl, short }: { baseUrl: string; short: boolean }) {
  const answers: ReloadAnswers = { served: 0, others: [] }
  let isOver = false
  let written = 0
  const callers = Array.from({ length: CALLERS }, () => keepAsking(gateway, { answers, isOver: () => isOver }))
  const next = () => upstreamConfig(baseUrl, `# change ${++written}\n`)
  const storm: ReloadStorm = {
    file: join(gateway.folder, "trivium.yaml"),
    random: new SeededRandom({ seed: 27, number: 0 }),
    next,
  }
  const plainWrites = short ? 15 : 153
  for (let turn = 0; turn < plainWrites; turn++) {
    await write(storm)
    await setTimeout(WRITE_EVERY_MS)
  }
  for (let turn = 0; turn < (short ? 1 : 8) * ACTS.length; turn++) {
    await ACTS[turn % ACTS.length]?.(storm)
    await setTimeout(storm.random.below(SETTLED_MS))
  }
  isOver = true
  await Promise.all(callers)
  return { answers, written, lastHolds: await lastHolds(gateway, { file: storm.file, baseUrl }) }
}

/** Whether the final content takes effect after any previous ones. */
async function lastHolds(gateway: RunningGateway, { file, baseUrl }: { file: string; baseUrl: string }) {
  writeFileSync(file, upstreamConfig(baseUrl).replace("id: test/model", "id: last/model"))
  const call = () => gateway.chat({ model: "last/model", messages: [{ role: "user", content: "hi" }] })
  const end = performance.now() + 10_000
  while (performance.now() < end) {
    if ((await call()).status === 200) return true
    await setTimeout(50)
  }
  return false
}

export const reloads: ProofRow = {
  number: 27,
  title: "a configuration file that is written carelessly under load",
  async run({ short, print }): Promise<ProofFigure[]> {
    const upstream = await ScriptedUpstream.start((_, reply) => reply.json(completion("hi")))
    const gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
    try {
      const { answers, written, lastHolds: holds } = await run(gateway, { baseUrl: upstream.baseUrl, short })
      const [reloaded, rejected] = [gateway.logged("config-reloaded").length, gateway.logged("config-rejected").length]
      print(`${written} contents written, ${reloaded} loaded, ${rejected} refused`)
      for (const each of answers.others.slice(0, 5)) print(each)
      return [
        { what: "contents loaded", seen: reloaded, atLeast: short ? 2 : 20, needsQuiet: true },
        { what: "contents and files refused", seen: rejected, atLeast: short ? 1 : 10, needsQuiet: true },
        {
          what: "requests answered by their provider",
          seen: answers.served,
          atLeast: short ? 100 : 5000,
          needsQuiet: true,
        },
        { what: "requests answered otherwise", seen: answers.others.length, atMost: 0 },
        { what: "whether the last content took effect", seen: Number(holds), atLeast: 1 },
      ]
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  },
}
