// A connection over a scripted wire: bytes that arrive together are processed in slices, in order.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { BYTES_PER_TURN } from "./event-loop/turn-budget.ts"
import { httpSender } from "./http-client.ts"
import { upstreamRequest } from "./http-host.fixture.ts"
import { readAll } from "./read-all.ts"
import { TransportError } from "./transport-error.ts"
import type { DialWire, WireListener } from "./wire.ts"

const OPEN = "HTTP/1.1 200 OK\r\n\r\n"
const MIB = 1024 * 1024

/** A wire whose host is scripted by the test. */
function playedWire() {
  const played = { listener: undefined as WireListener | undefined, isPaused: false, isDestroyed: false }
  const dial: DialWire = (_, listener) => {
    played.listener = listener
    queueMicrotask(() => listener.opened())
    return {
      write: () => {},
      isFlushed: () => true,
      pause: () => {
        played.isPaused = true
      },
      resume: () => {
        played.isPaused = false
      },
      hold: () => {},
      destroy: () => {
        played.isDestroyed = true
      },
    }
  }
  const say = (text: string | Uint8Array) => played.listener?.received(new Uint8Array(Buffer.from(text as string)))
  return { played, dial, say }
}

async function get() {
  const wire = playedWire()
  const answering = httpSender({ dial: wire.dial })(upstreamRequest("http://played/"))
  await Bun.sleep(1)
  return { ...wire, answering }
}

const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve))

describe("bytes that arrive together", () => {
  test("bytes that arrive together are handed out over several turns, and the host waits meanwhile", async () => {
    const { played, say, answering } = await get()
    say(OPEN)
    const reader = (await answering).body?.getReader()
    say("x".repeat(2 * MIB))
    expect(played.isPaused).toBe(true)
    let read = 0
    const reading = (async () => {
      while (read < 2 * MIB) read += (await reader?.read())?.value?.byteLength ?? 0
    })()
    const steps: number[] = []
    for (let before = read; read < 2 * MIB; before = read) {
      await nextTurn()
      steps.push(read - before)
    }
    await reading
    expect(Math.max(...steps)).toBeLessThanOrEqual(2 * BYTES_PER_TURN)
    expect(played.isPaused).toBe(false)
  })

  test("the socket is paused while the reader does not read", async () => {
    const { played, say, answering } = await get()
    say(OPEN)
    const reader = (await answering).body?.getReader()
    say("x".repeat(MIB))
    for (let turn = 0; turn < 50; turn++) await nextTurn()
    expect(played.isPaused).toBe(true)
    const first = await reader?.read()
    expect(first?.value?.byteLength).toBeLessThan(MIB / 4)
  })

  test("bytes that arrive together are read before the end or failure of the connection that follows them", async () => {
    for (const end of ["ended", "failed"] as const) {
      const { played, say, answering } = await get()
      say(OPEN)
      const answer = await answering
      say("x".repeat(MIB))
      if (end === "ended") played.listener?.ended()
      else played.listener?.failed(new Error("reset"))
      let read = 0
      const reader = answer.body?.getReader()
      const failure = await (async () => {
        for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
          read += piece.value.byteLength
          await nextTurn()
        }
      })().catch((thrown) => thrown)
      expect(read).toBe(MIB)
      expect(failure instanceof TransportError).toBe(end === "failed")
    }
  })

  test("bytes after the end of an answer close the connection", async () => {
    const { played, say, answering } = await get()
    say(`HTTP/1.1 200 OK\r\ncontent-length: ${MIB}\r\n\r\n`)
    const answer = await answering
    say("x".repeat(MIB + 1))
    expect((await readAll(answer, 2 * MIB)).byteLength).toBe(MIB)
    expect(played.isDestroyed).toBe(true)
  })

  test("bytes that arrive together give the same answer as bytes that arrive apart", async () => {
    const piece = fc.tuple(fc.nat(200_000), fc.boolean(), fc.boolean())
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), fc.boolean(), async (pieces, inChunks) => {
        const { played, say, answering } = await get()
        say(inChunks ? "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" : OPEN)
        const reading = readAll(await answering, 10 * MIB)
        let expected = 0
        for (const [size, splits, pauses] of pieces) {
          const length = size + 1
          expected += length
          const head = inChunks ? `${length.toString(16)}\r\n` : ""
          const bytes = `${head}${"x".repeat(length)}${inChunks ? "\r\n" : ""}`
          const cut = splits ? Math.floor(bytes.length / 3) : 0
          if (cut > 0) say(bytes.slice(0, cut))
          say(bytes.slice(cut))
          if (pauses) await nextTurn()
        }
        if (inChunks) say("0\r\n\r\n")
        played.listener?.ended()
        expect((await reading).byteLength).toBe(expected)
      }),
      { numRuns: 50 },
    )
  })
})
