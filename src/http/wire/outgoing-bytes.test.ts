import { expect, test } from "bun:test"
import fc from "fast-check"
import { OutgoingBytes } from "./outgoing-bytes.ts"

test("bytes leave in order and once, however few the kernel takes at a time", () => {
  const piece = fc.oneof(fc.string({ unit: "grapheme" }), fc.uint8Array({ maxLength: 50 }))
  const step = fc.oneof(piece, fc.constant("flush" as const))
  fc.assert(
    fc.property(fc.array(step), fc.infiniteStream(fc.nat(30)), (steps, room) => {
      const taken: Uint8Array[] = []
      const sink = {
        write(bytes: string | Uint8Array): number {
          const all = Buffer.from(bytes as string)
          const some = all.subarray(0, room.next().value)
          taken.push(some)
          return some.length
        },
      }
      const output = new OutgoingBytes(sink)
      const given: Uint8Array[] = []
      for (const each of steps) {
        if (each === "flush") output.flush()
        else {
          const bytes = Buffer.from(each as string)
          given.push(bytes)
          const isTaken = output.write(each, bytes.length)
          expect(isTaken).toBe(output.isFlushed)
        }
      }
      for (let turn = 0; turn < 10_000 && !output.isFlushed; turn++) output.flush()
      expect(Buffer.concat(taken).equals(Buffer.concat(given))).toBe(true)
    }),
  )
})

test("a connection that accepts no more bytes gets none to keep", () => {
  const output = new OutgoingBytes({ write: () => -1 })
  expect([output.write("abc"), output.isFlushed]).toEqual([false, true])
})
