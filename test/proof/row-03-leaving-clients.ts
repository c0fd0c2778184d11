// Clients that leave a stream at a random byte: the upstream is released, nothing stays held, and the delivered output
// is charged.
import { setTimeout } from "node:timers/promises"
import type { SimulatedCharge } from "../../src/simulator/simulated-charge.ts"
import { countTokens } from "../../src/simulator/tokens.ts"
import { PROTOCOLS, readSome } from "../money/client.ts"
import { type BookedReceipt, modelAt, tokensOf } from "../money/money-fixture.ts"
import { MoneyStage } from "./money-stage.ts"
import type { ProofFigure, ProofRow } from "./row.ts"
import { runConcurrently } from "./run-concurrently.ts"
import { SeededRandom } from "./seeded-random.ts"

const TEXT = "Say 120 words."
const WORDS = "tokens-per-second-60"
const MOST_BYTES = 25_000
const AT_ONCE = 40
const SETTLED_WITHIN_MS = 5000

interface DisconnectedCall {
  readonly answerId: string
  readonly receiptId: string
  readonly leftAt: number
  /** In the simulator's tokens. */
  readonly received: number
}

export const leavingClients: ProofRow = {
  number: 3,
  title: "clients that leave a stream at a random byte",
  async run({ short, print }) {
    const stage = await MoneyStage.start()
    const random = new SeededRandom({ seed: 3, number: 0 })
    const streams = Array.from({ length: short ? 60 : 1000 }, (_, at) => ({
      protocol: PROTOCOLS[at % PROTOCOLS.length] ?? "openai-chat",
      // Some leave at the first bytes.
      bytes: random.below(at % 10 === 0 ? 500 : MOST_BYTES) + 1,
    }))
    try {
      const left = await runConcurrently(streams, {
        atOnce: AT_ONCE,
        act: async ({ protocol, bytes }): Promise<DisconnectedCall> => {
          const { url, key } = stage.gateway
          const request = { url, key, protocol, model: modelAt(protocol, WORDS), stream: true, text: TEXT }
          const { text, id } = await readSome(request, (received) => received.length >= bytes)
          return { answerId: idIn(text), receiptId: id, leftAt: Date.now(), received: countTokens(wordsIn(text)) }
        },
      })
      await setTimeout(SETTLED_WITHIN_MS)
      const held = await stage.held()
      return [
        { what: "USD still held 5 s after the last client left", seen: held, atMost: 0 },
        ...(await figuresOf(stage, left, print)),
        { what: "problems in the ledger", seen: await stage.problems(), atMost: 0 },
      ]
    } finally {
      await stage.stop()
    }
  },
}

async function figuresOf(
  stage: MoneyStage,
  left: readonly DisconnectedCall[],
  print: (text: string) => void,
): Promise<ProofFigure[]> {
  const bills = new Map([...stage.bills()].map(([id, bill]) => [id.startsWith("resp_") ? id.slice(0, 29) : id, bill]))
  const known = left.filter(({ answerId }) => bills.has(answerId))
  const pairs = await runConcurrently(known, {
    atOnce: AT_ONCE,
    act: async ({ answerId, receiptId, leftAt, received }) => {
      const bill = bills.get(answerId) as SimulatedCharge
      const receipt = await stage.receipt(receiptId)
      return { bill, receipt, received, lateMs: Math.max(0, Date.parse(bill.time) - leftAt) }
    },
  })
  const settled = pairs.filter(({ receipt }) => receipt?.outcome === "settled") as ChargedCall[]
  const wrong = settled.filter((each) => !isFair(each))
  for (const { bill, receipt } of wrong.slice(0, 5))
    print(`billed ${JSON.stringify(bill)}, charged ${JSON.stringify(receipt)}`)
  const delivered = sum(settled.map(({ bill }) => bill.input_tokens + bill.output_tokens))
  const charged = sum(settled.map(({ receipt }) => totalOf(receipt)))
  return [
    {
      what: "streams left before their end, found in the upstream's bill",
      seen: known.length,
      atLeast: left.length * 0.95,
    },
    { what: "of these, settled", seen: settled.length, atLeast: known.length, unit: `of ${known.length}` },
    {
      what: "the last upstream was released after",
      seen: Math.max(...pairs.map(({ lateMs }) => lateMs)),
      atMost: 1000,
      unit: "ms",
    },
    {
      what: "charged output, relative to the output sent by the upstream",
      seen: (100 * charged) / delivered,
      atLeast: 98,
      atMost: 102,
      unit: "%",
      // On a busy machine more of it is still on its way to the gateway when the client leaves.
      needsQuiet: true,
    },
    {
      what: "streams charged less than was read or more than was sent, by more than 2 % and 2 tokens",
      seen: wrong.length,
      atMost: 0,
    },
  ]
}

interface ChargedCall {
  readonly bill: SimulatedCharge
  readonly receipt: BookedReceipt
  readonly received: number
}

/** No less than the client has read, no more than has left the upstream: what is between them was on its way. */
function isFair({ bill, receipt, received }: ChargedCall): boolean {
  const charged = totalOf(receipt)
  const most = bill.input_tokens + bill.output_tokens
  // Some protocols repeat the whole text at the end.
  const least = Math.min(most, bill.input_tokens + received)
  const slack = Math.max(2, 0.02 * charged)
  return charged >= least - slack && charged <= most + slack
}

/** The text of the events, in any protocol. */
function wordsIn(text: string): string {
  const pieces = text.matchAll(/"(?:content|delta|text)":"((?:[^"\\]|\\.)*)"/g)
  return [...pieces].map(([, piece]) => JSON.parse(`"${piece}"`)).join("")
}

function totalOf({ cost }: BookedReceipt): number {
  const { input, output } = tokensOf(cost)
  return input + output
}

/** The answer's own id, wherever the protocol has it. That of a response is the gateway's; its items begin as it did. */
function idIn(text: string): string {
  const item = /"(?:msg|rs)_([0-9a-f]{24})[0-9a-f]{24}"/.exec(text)?.[1]
  if (item !== undefined) return `resp_${item}`
  return /"(?:id|responseId)":"((?:chatcmpl-|resp_|msg_)?[\w-]{10,})"/.exec(text)?.[1] ?? ""
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
