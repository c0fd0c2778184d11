// Streams that break at some byte, in each way a stream can: the vendor's own library raises an error.
import type { ExchangeTimeouts } from "../../src/exchange/exchange-deps.ts"
import { within } from "../stage/eventually.ts"
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { ScriptedUpstream, type UpstreamReply, type UpstreamScript } from "../stage/upstream.ts"
import { STREAM_READERS, type StreamReader } from "./official-clients.ts"
import type { ProofRow } from "./row.ts"
import { runConcurrently } from "./run-concurrently.ts"
import { dialectAt, type WireDialect } from "./wire-dialects.ts"

const TEXT = 'The quick brown fox says "zwölf" 😀 and jumps over the lazy dog.'
const GARBAGE = Buffer.from("\u0000\xff}]<html>502 Bad Gateway</html>\n\n", "latin1")
/** Bytes that a cut overtakes are lost, so it waits until the bytes before it have arrived. */
const ARRIVAL_MS = 5
const PATIENCE_MS = 20_000

const DEATHS: Readonly<Record<string, (reply: UpstreamReply) => void | Promise<void>>> = {
  reset: (reply) => reply.cut("reset"),
  fin: (reply) => reply.cut("fin"),
  end: (reply) => reply.end(),
  garbage: async (reply) => {
    await reply.write(GARBAGE)
    reply.end()
  },
  stall: () => {},
}

interface RecordedStream {
  readonly events: readonly Buffer[]
  readonly length: number
  /** From here on the answer is whole, whatever happens. */
  readonly wholeAt: number
}

function streamOf({ events, dispensable }: WireDialect): RecordedStream {
  const texts = events(TEXT)
  const needed = texts.slice(0, texts.length - dispensable).join("")
  const length = Buffer.byteLength(texts.join(""))
  return { events: texts.map((text) => Buffer.from(text)), length, wholeAt: Buffer.byteLength(needed.trimEnd()) }
}

/** The request names the break of the stream: `die reset at 17`. */
const dying: UpstreamScript = async (request, reply) => {
  const [, how = "", place = ""] = /die (\w+) at (\d+)/.exec(request.body.toString()) ?? []
  const { events } = streamOf(dialectAt(request.path))
  const bytes = Buffer.concat(events).subarray(0, Number(place))
  reply.stream()
  // Half of them in one piece, half event by event.
  if (Number(place) % 2 === 0 && bytes.length > 0) await reply.write(bytes)
  else for (const piece of cutInto(bytes, events)) await reply.write(piece)
  await Bun.sleep(ARRIVAL_MS)
  await DEATHS[how]?.(reply)
}

function cutInto(bytes: Buffer, events: readonly Buffer[]): Buffer[] {
  let at = 0
  return events.flatMap(({ length }) => {
    const piece = bytes.subarray(at, at + length)
    at += length
    return piece.length === 0 ? [] : [piece]
  })
}

interface BrokenStreamCase {
  readonly reader: StreamReader
  readonly how: string
  readonly place: number
}

type StreamOutcome = "raised" | "whole" | "truncated" | "hung"

/** Every so many bytes, and on both sides of every border between events. */
function places({ events, length }: RecordedStream, count: number): number[] {
  const step = Math.max(1, Math.floor(length / count))
  const spread = Array.from({ length: Math.ceil(length / step) }, (_, index) => index * step)
  let border = 0
  const borders = events.flatMap((event) => {
    border += event.length
    return [border - 1, border, border + 1]
  })
  const near = count < borders.length ? [] : borders
  return [...new Set([...spread, ...near])].filter((place) => place < length)
}

function casesOf(hows: readonly string[], count: number): BrokenStreamCase[] {
  return STREAM_READERS.flatMap((reader) => {
    const stream = streamOf(reader.dialect)
    return hows.flatMap((how) => places(stream, count).map((place) => ({ reader, how, place })))
  })
}

/** OpenAI's library prints every event it cannot read to the console, in addition to raising an error. */
async function muted<Result>(act: () => Promise<Result>): Promise<Result> {
  const { error } = console
  console.error = () => {}
  try {
    return await act()
  } finally {
    console.error = error
  }
}

interface StreamAddress {
  readonly url: string
  readonly key: string
}

/**
 * A gateway for each of them: where there was another host to turn to, one that dies so often would be left alone, and a
 * stream would die at another place than the case says.
 */
const HOSTS = ["openai-like", "anthropic-like", "gemini-like"] as const
type PerHost<Gateway> = Readonly<Record<(typeof HOSTS)[number], Gateway>>

async function perHost<Gateway>(
  start: (hosts: readonly string[]) => Gateway | Promise<Gateway>,
): Promise<PerHost<Gateway>> {
  const [openai, anthropic, gemini] = HOSTS
  return {
    "openai-like": await start([openai]),
    "anthropic-like": await start([anthropic]),
    "gemini-like": await start([gemini]),
  }
}

function hostOf({ name }: WireDialect): (typeof HOSTS)[number] {
  if (name === "messages") return "anthropic-like"
  return name === "chat" || name === "responses" ? "openai-like" : "gemini-like"
}

async function endings(cases: readonly BrokenStreamCase[], gateways: PerHost<StreamAddress>, atOnce: number) {
  const readers = new Map(STREAM_READERS.map((reader) => [reader, reader.at(gateways[hostOf(reader.dialect)])]))
  return runConcurrently(cases, {
    atOnce,
    act: async ({ reader, how, place }): Promise<StreamOutcome> => {
      const reading = readers.get(reader)?.(`die ${how} at ${place}`) ?? Promise.resolve("")
      const ended = reading.then(
        (text): StreamOutcome => (text === TEXT ? "whole" : "truncated"),
        (): StreamOutcome => "raised",
      )
      return within(ended, "the end", PATIENCE_MS).catch((): StreamOutcome => "hung")
    },
  })
}

export const brokenStreams: ProofRow = {
  number: 8,
  title: "mid-stream death: RST, FIN, a clean end, garbage, stall",
  async run({ short, print }) {
    const upstream = await ScriptedUpstream.start(dying)
    const config = (hosts: readonly string[]) => vendorsConfig(upstream.origin, "", hosts)
    const real = await perHost((hosts) => RunningGateway.start({ config: config(hosts) }))
    // The gap that ends a stall is a minute in a real one. A heart-beat makes a failure before the first word one inside
    // a stream that has begun.
    const limits = { firstEventMs: 300, gapMs: 300 }
    const inProcess = (timeouts: Partial<ExchangeTimeouts>) =>
      perHost((hosts) => InProcessGateway.start({ config: config(hosts), timeouts }))
    const quiet = await inProcess(limits)
    const beating = await inProcess({ ...limits, heartbeatMs: 100 })
    try {
      const cuts = casesOf(["reset", "fin", "end", "garbage"], short ? 12 : 400)
      const stalls = casesOf(["stall"], short ? 8 : 300)
      const cases = [...cuts, ...stalls, ...stalls]
      const seen = [
        ...(await muted(() => endings(cuts, real, 16))),
        ...(await endings(stalls, quiet, 64)),
        ...(await endings(stalls, beating, 64)),
      ]
      return figures(cases, seen, { short, print })
    } finally {
      for (const gateways of [real, quiet, beating]) for (const host of HOSTS) await gateways[host].stop()
      await upstream.stop()
    }
  },
}

function figures(
  cases: readonly BrokenStreamCase[],
  seen: readonly StreamOutcome[],
  { short, print }: Parameters<ProofRow["run"]>[0],
) {
  const wholeAt = new Map(STREAM_READERS.map(({ dialect }) => [dialect, streamOf(dialect).wholeAt]))
  const ended = cases.map((each, index) => ({ ...each, ending: seen[index] }))
  const died = ended.filter(({ reader, place }) => place < (wholeAt.get(reader.dialect) ?? 0))
  const silent = ended.filter(({ ending }) => ending === "truncated" || ending === "hung")
  const missed = died.filter(({ ending }) => ending !== "raised")
  for (const { reader, how, place, ending } of new Set([...silent, ...missed])) {
    print(`${reader.name}: ${how} at byte ${place} of ${streamOf(reader.dialect).length}: ${ending}`)
  }
  const early = died.filter(({ place }) => place === 0).length
  const beyond = ended.filter(({ ending }) => ending === "whole").length
  print(`${ended.length} streams, ${beyond} of them whole before they died, ${early} dead before their first byte`)
  return [
    { what: "streams that died before their answer was whole", seen: died.length, atLeast: short ? 300 : 10_000 },
    {
      what: "of these, errors raised",
      seen: (100 * (died.length - missed.length)) / died.length,
      atLeast: 100,
      unit: "% of them",
    },
    { what: "streams truncated silently, or without an end", seen: silent.length, atMost: 0 },
    { what: "readers", seen: STREAM_READERS.length, atLeast: 9 },
  ]
}
