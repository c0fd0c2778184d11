// The fixed upstream, a process of its own: raw TCP, canned answers, so that it costs as little as can be. It streams
// one piece per write and spreads the streams over the pace, so that each piece reaches a proxy as a read of its own.
import type { Socket } from "bun"
import { cannedAnswers } from "./canned-answers.ts"
import type { BenchProtocolName } from "./protocols.ts"
import { RequestReader } from "./request-reader.ts"
import { STREAM_PACE_MS } from "./workload.ts"

type UpstreamConnection = { reader: RequestReader; nextPiece: number }

const { unary: unaryAnswer, pieces: streamPieces } = cannedAnswers(process.argv[2] as BenchProtocolName)
const streamMark = Buffer.from('"stream":true')
/** Streams under way; each is written once in `STREAM_PACE_MS` ticks of one millisecond. */
const slots = Array.from({ length: STREAM_PACE_MS }, () => new Set<Socket<UpstreamConnection>>())
let turn = 0
let started = 0
let ticking = false

const server = Bun.listen<UpstreamConnection>({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    open(socket) {
      socket.setNoDelay(true)
      socket.data = { reader: new RequestReader((body, head) => answer(socket, body, head)), nextPiece: 0 }
    },
    data(socket, bytes) {
      socket.data.reader.push(bytes)
    },
    close: forget,
    error: forget,
  },
})

process.on("disconnect", () => process.exit())
process.send?.({ port: server.port })

/** One protocol asks for a stream in the path alone. */
function answer(socket: Socket<UpstreamConnection>, body: Buffer, head: string): void {
  if (body.includes(streamMark) || head.includes(":streamGenerateContent")) beginStream(socket)
  else write(socket, unaryAnswer)
}

function beginStream(socket: Socket<UpstreamConnection>): void {
  socket.data.nextPiece = 0
  writeNextPiece(socket)
  slots[started++ % slots.length]?.add(socket)
  if (!ticking) setTimeout(tick, 1)
  ticking = true
}

function tick(): void {
  const slot = slots[turn++ % slots.length]
  for (const socket of slot ?? []) {
    writeNextPiece(socket)
    if (socket.data.nextPiece === streamPieces.length) forget(socket)
  }
  ticking = slots.some(({ size }) => size > 0)
  if (ticking) setTimeout(tick, 1)
}

function writeNextPiece(socket: Socket<UpstreamConnection>): void {
  const piece = streamPieces[socket.data.nextPiece++]
  if (piece) write(socket, piece)
}

/** A short write means that a reader stalls, which no run should see: break the connection, so that it is counted. */
function write(socket: Socket<UpstreamConnection>, bytes: Buffer): void {
  if (socket.write(bytes) !== bytes.length) socket.terminate()
}

function forget(socket: Socket<UpstreamConnection>): void {
  for (const slot of slots) slot.delete(socket)
}
