// Clients that do not read an endless stream: the provider is paused, memory stays bounded, and they are disconnected.
import { connect, createServer, type Server, type Socket } from "node:net"
import { setTimeout } from "node:timers/promises"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { type KernelSocket, kernelSockets } from "../stage/kernel-sockets.ts"
import { chunk } from "../stage/upstream.ts"
import type { ProofFigure, ProofRow } from "./row.ts"
import { watch } from "./watch-gateway.ts"

const KIB = 1024
const STILL_MS = 1500
const CUT_POLL_MS = 250
/**
 * All streams together, a thousand times and more what models write. Sockets go faster still; then what comes in one
 * read, up to half a megabyte, is what each holds.
 */
const BYTES_PER_MS = 60_000
/** Named as the gateway names it, so that what goes in and what comes out are equally long. */
const EVENT = chunk({ content: "x".repeat(8 * KIB) }, null, { model: "test/model" })
const PIECE = Buffer.from(`${Buffer.byteLength(EVENT).toString(16)}\r\n${EVENT}\r\n`)
const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

/** A provider of streams without end, that knows how much it could write on each connection. */
class EndlessHost {
  private readonly written = new Map<Socket, number>()
  private readonly server: Server

  private constructor(private readonly everyMs: number) {
    this.server = createServer((socket) => {
      this.written.set(socket, 0)
      socket.on("error", () => {})
      socket.once("close", () => this.written.delete(socket))
      socket.once("data", () => this.pour(socket))
    })
  }

  /** For so many streams. */
  static async start(count: number): Promise<EndlessHost> {
    const host = new EndlessHost((count * PIECE.length) / BYTES_PER_MS)
    await new Promise<void>((resolve) => host.server.listen(0, "127.0.0.1", 4096, resolve))
    return host
  }

  get port(): number {
    return (this.server.address() as { port: number }).port
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}/v1`
  }

  get open(): number {
    return this.written.size
  }

  /** All bytes given to the kernel, the piece it has not wholly taken yet included. */
  get total(): number {
    return [...this.written.values()].reduce((sum, bytes) => sum + bytes, 0)
  }

  async stop(): Promise<void> {
    for (const socket of this.written.keys()) socket.destroy()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private pour(socket: Socket): void {
    socket.write(HEAD)
    const next = () => {
      if (socket.destroyed) return
      this.written.set(socket, (this.written.get(socket) ?? 0) + PIECE.length)
      socket.write(PIECE, () => void globalThis.setTimeout(next, this.everyMs))
    }
    next()
  }
}

/** Asks for a stream and reads no byte of it. */
async function askAndStop({ url, key }: { url: string; key: string }): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on("error", () => {})
  await new Promise((resolve) => socket.once("connect", resolve))
  socket.pause()
  const body = JSON.stringify({ model: "test/model", messages: [{ role: "user", content: "hi" }], stream: true })
  const lines = ["POST /v1/chat/completions HTTP/1.1", "host: g", `authorization: Bearer ${key}`]
  lines.push("content-type: application/json", `content-length: ${body.length}`, "", body)
  socket.write(lines.join("\r\n"))
  return socket
}

function among(ports: readonly number[]): KernelSocket[] {
  return kernelSockets().filter(({ localPort, remotePort }) => ports.includes(localPort) || ports.includes(remotePort))
}

/** Bytes in the kernel between the provider and the readers. */
function queued(ports: readonly number[]): number {
  return among(ports).reduce((sum, { sendQueue, receiveQueue }) => sum + sendQueue + receiveQueue, 0)
}

async function untilStill(host: EndlessHost): Promise<void> {
  for (let last = -1; last !== host.total; await setTimeout(STILL_MS)) last = host.total
}

interface HeldBytes {
  /** Bytes held by the gateway, per stream. */
  readonly ownKib: number
  readonly kernelMib: number
}

/** Bytes that were written and are neither in the kernel's queues nor with a reader are in the gateway. */
async function held(host: EndlessHost, gatewayUrl: string, count: number): Promise<HeldBytes> {
  await untilStill(host)
  const kernel = queued([host.port, Number(new URL(gatewayUrl).port)])
  return { ownKib: (host.total - kernel) / count / KIB, kernelMib: kernel / count / KIB / KIB }
}

/** The seconds until no provider and no reader is connected any more. */
async function secondsUntilCut(
  host: EndlessHost,
  { readers, since, withinMs }: { readers: readonly Socket[]; since: number; withinMs: number },
) {
  const ports = new Set(readers.map(({ localPort }) => localPort))
  const connected = () =>
    host.open + kernelSockets().filter(({ remotePort, isOpen }) => ports.has(remotePort) && isOpen).length
  while (connected() > 0 && performance.now() - since < withinMs) await setTimeout(CUT_POLL_MS)
  return (performance.now() - since) / 1000
}

export const slowReaders: ProofRow = {
  number: 10,
  title: "slow readers",
  async run({ short, print }) {
    const count = short ? 20 : 200
    const host = await EndlessHost.start(count)
    const gateway = await RunningGateway.start({ config: upstreamConfig(host.baseUrl) })
    try {
      const began = performance.now()
      let readers: Socket[] = []
      let own: HeldBytes = { ownKib: Number.NaN, kernelMib: Number.NaN }
      let cutSeconds = Number.NaN
      const { grownMb, waits } = await watch(gateway, async () => {
        readers = await Promise.all(Array.from({ length: count }, () => askAndStop(gateway)))
        await eventually(() => host.open === count, { what: "a stream for each reader" })
        own = await held(host, gateway.url, count)
        if (!short) cutSeconds = await secondsUntilCut(host, { readers, since: began, withinMs: 90_000 })
      })
      for (const reader of readers) reader.destroy()
      if (short) cutSeconds = await scaledCut(count)
      print(`per stream the kernel held ${own.kernelMib.toFixed(1)} MiB, the process ${own.ownKib.toFixed(0)} KiB`)
      print(`a small request waited ${Math.max(...waits).toFixed(0)} ms at most`)
      return figures({ count, own, grownMb, cutSeconds, cutWithin: short ? 10 : 65 })
    } finally {
      await gateway.stop()
      await host.stop()
    }
  },
}

/** As in production, where a reader may stall for 30 s; here for a second, and closing takes some more. */
async function scaledCut(count: number): Promise<number> {
  const host = await EndlessHost.start(count)
  const config = upstreamConfig(host.baseUrl)
  const gateway = InProcessGateway.start({ config, timeouts: { heartbeatMs: 300, stalledMs: 1000 } })
  try {
    const since = performance.now()
    const readers = await Promise.all(Array.from({ length: count }, () => askAndStop(gateway)))
    await eventually(() => host.open > 0, { what: "a stream" })
    const seconds = await secondsUntilCut(host, { readers, since, withinMs: 20_000 })
    for (const reader of readers) reader.destroy()
    return seconds
  } finally {
    await gateway.stop()
    await host.stop()
  }
}

interface SlowReaderResult {
  readonly count: number
  readonly own: HeldBytes
  readonly grownMb: number
  readonly cutSeconds: number
  readonly cutWithin: number
}

function figures({ count, own, grownMb, cutSeconds, cutWithin }: SlowReaderResult): ProofFigure[] {
  return [
    { what: "clients that read nothing", seen: count, atLeast: count },
    {
      what: "held by the gateway per stream",
      seen: own.ownKib,
      atLeast: 0,
      atMost: 256,
      unit: "KiB",
      needsQuiet: true,
    },
    { what: "held by the kernel per stream, until full", seen: own.kernelMib, atLeast: 0.1, unit: "MiB" },
    { what: "peak memory growth", seen: grownMb, atMost: 300, unit: "MB" },
    { what: "the last was disconnected after", seen: cutSeconds, atMost: cutWithin, unit: "s" },
  ]
}
