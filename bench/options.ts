// The flags of a run.
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { type BenchProtocolName, PROTOCOLS } from "./protocols.ts"

export type FillingOptions = { keys: number; rows: number }

export type BenchOptions = {
  json: string
  rounds: number
  quick: boolean
  only: "unary" | "stream" | undefined
  protocol: BenchProtocolName
  /** Measures the translate lane to this protocol against the relay lane, instead of the yardsticks. */
  to: BenchProtocolName | undefined
  /** Measures a store of this size against an empty one, instead of the yardsticks. */
  filled: FillingOptions | undefined
  /** Measures the gateway of another checkout against this one's, instead of the yardsticks. */
  before: string | undefined
  /** Leaves the gateway out, to see how steady the machine and the yardsticks are. */
  calibrate: boolean
  pin: boolean
}

export function readOptions(args: string[]): BenchOptions {
  const { values } = parseArgs({
    args,
    options: {
      json: { type: "string", default: join(import.meta.dir, "results", "latest.json") },
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      protocol: { type: "string", default: "openai-chat" },
      to: { type: "string" },
      filled: { type: "string" },
      before: { type: "string" },
      calibrate: { type: "boolean", default: false },
      "no-pin": { type: "boolean", default: false },
    },
  })
  const { json, quick, only, calibrate } = values
  if (only !== undefined && only !== "unary" && only !== "stream") throw new Error("--only takes unary or stream")
  const protocol = PROTOCOLS.find((name) => name === values.protocol)
  if (!protocol) throw new Error(`--protocol takes ${PROTOCOLS.join(", ")}`)
  const to = PROTOCOLS.find((name) => name === values.to && name !== protocol)
  if (values.to !== undefined && !to) throw new Error("--to takes another protocol than that of --protocol")
  const [, keys, rows] = /^(\d+),(\d+)$/.exec(values.filled ?? "10,0") ?? []
  if (keys === undefined || rows === undefined) throw new Error("--filled takes KEYS,ROWS such as 1000000,5000000")
  const filled = values.filled === undefined ? undefined : { keys: Number(keys), rows: Number(rows) }
  const rounds = Number(values.rounds ?? (quick ? 2 : 5))
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds takes a whole number from 1 on")
  const before = values.before === undefined ? undefined : resolve(values.before)
  return { json, rounds, quick, only, protocol, to, filled, before, calibrate, pin: !values["no-pin"] }
}
