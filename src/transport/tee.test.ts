import { expect, test } from "bun:test"
import { fromByteText, toByteText } from "./byte-text.ts"
import type { Frame } from "./sse.ts"
import { Tee, type TeeOptions } from "./tee.ts"

const stream = "data: one\n\n: note\n\ndata: two\n\ndata: three\n\n"

function teeOf(options: Partial<TeeOptions<string>> = {}) {
  const failures: unknown[] = []
  const seen: string[] = []
  const tee = new Tee<string>({
    observer: { push: ({ data }: Frame) => (data === undefined ? [] : [data]), finish: () => ["end"] },
    edit: ({ raw }) => raw,
    onEvent: (event) => {
      seen.push(event)
      return "go-on"
    },
    onObserverFailure: (cause) => failures.push(cause),
    ...options,
  })
  const run = (text: string) => {
    const passed = [tee.push(fromByteText(text)), tee.finish()].map((bytes) => (bytes ? toByteText(bytes) : ""))
    tee.conclude()
    return passed.join("")
  }
  return { run, seen, failures }
}

test("everything passes and the observer sees it", () => {
  const { run, seen } = teeOf()
  expect(run(stream)).toBe(stream)
  expect(seen).toEqual(["one", "two", "three", "end"])
})

test("an observer that fails changes nothing of what passes, and is told of once", () => {
  const { run, failures } = teeOf({
    observer: {
      push() {
        throw new Error("observer broke")
      },
      finish: () => [],
    },
  })
  expect(run(stream)).toBe(stream)
  expect(failures).toHaveLength(1)
})

test("an event may end what passes with its frame, or before it", () => {
  const ending = (verdict: "last-frame" | "stop-before") =>
    teeOf({ onEvent: (event) => (event === "two" ? verdict : "go-on") }).run(stream)
  expect(ending("last-frame")).toBe("data: one\n\n: note\n\ndata: two\n\n")
  expect(ending("stop-before")).toBe("data: one\n\n: note\n\n")
})

test("frames may be edited and dropped", () => {
  const { run } = teeOf({ edit: ({ raw, data }) => (data === "two" ? "" : raw.replace("one", "1")) })
  expect(run(stream)).toBe("data: 1\n\n: note\n\ndata: three\n\n")
})
