import { expect, test } from "bun:test"
import { Log } from "./log.ts"

function logged(act: (log: Log) => void): string {
  let text = ""
  const log = new Log({ write: (lines) => (text += lines), now: () => 0 })
  act(log)
  log.flush()
  return text
}

test("a log line is one JSON object with time, level and event", () => {
  const text = logged((log) => log.line("info", "exchange", { status: 200, stream: false, model: 'a"b\n' }))
  expect(text).toEndWith("}\n")
  expect(JSON.parse(text)).toEqual({
    time: "1970-01-01T00:00:00.000Z",
    level: "info",
    event: "exchange",
    model: 'a"b\n',
    stream: false,
    status: 200,
  })
})

test("a field that is not on the list is not written", () => {
  const smuggled = { status: 200, prompt: "my secret", headers: { authorization: "Bearer x" } }
  const text = logged((log) => log.line("info", "exchange", smuggled as never))
  expect(JSON.parse(text)).toMatchObject({ status: 200 })
  expect(text).not.toContain("secret")
  expect(text).not.toContain("Bearer")
})

test("a log line may have no fields", () => {
  expect(JSON.parse(logged((log) => log.line("info", "stopped")))).toMatchObject({ event: "stopped" })
})

test("log lines are buffered and written in order", () => {
  const writes: string[] = []
  const log = new Log({ write: (lines) => writes.push(lines) })
  log.line("info", "one")
  log.line("warn", "two")
  expect(writes).toEqual([])
  log.flush()
  expect(writes).toHaveLength(1)
  expect(writes[0]?.match(/"event":"\w+"/g)).toEqual(['"event":"one"', '"event":"two"'])
})
