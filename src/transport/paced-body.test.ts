import { describe, expect, test } from "bun:test"
import { BYTES_PER_TURN, SLICE_BYTES } from "./event-loop/turn-budget.ts"
import { PacedBody } from "./paced-body.ts"
import { readAll } from "./read-all.ts"

const streamOf = (pieces: readonly Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })

describe("a paced body", () => {
  test("a paced body arrives whole, in slices", async () => {
    const pieces = [1, SLICE_BYTES, SLICE_BYTES + 1, 5 * SLICE_BYTES - 3].map((size) => new Uint8Array(size).fill(size))
    const body = new PacedBody(streamOf(pieces))
    const all = await readAll({ status: 200, ok: true, headers: new Headers(), body }, 10_000_000)
    expect(Buffer.from(all)).toEqual(Buffer.concat(pieces))
    const sliced = new PacedBody(streamOf(pieces)).getReader()
    for (let piece = await sliced.read(); !piece.done; piece = await sliced.read()) {
      expect(piece.value.byteLength).toBeLessThanOrEqual(SLICE_BYTES)
    }
  })

  test("a paced body is handed out over several turns of the event loop", async () => {
    const size = 16 * BYTES_PER_TURN
    const reader = new PacedBody(streamOf([new Uint8Array(size)])).getReader()
    let turns = 0
    const count = () => {
      turns++
      counting = setImmediate(count)
    }
    let counting = setImmediate(count)
    let read = 0
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) read += piece.value.byteLength
    clearImmediate(counting)
    expect(read).toBe(size)
    expect(turns).toBeGreaterThanOrEqual(8)
  })

  test("a paced body is cancelled at its source", async () => {
    const reasons: unknown[] = []
    const body = new PacedBody(new ReadableStream({ cancel: (reason) => void reasons.push(reason) }))
    await body.cancel("enough")
    expect(reasons).toEqual(["enough"])
  })
})
