import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { watchConfig } from "./watch.ts"

/** Long enough for a change to be noticed and settled several times over. */
const quietMs = 150
/** Time that a busy machine may need to notice a change. */
const patienceMs = 20_000
/** So rare that a passing test was notified of the change, and did not find it by polling. */
const neverMs = 60_000

let folder: string
let file: string
let changes: number
let failures: string[]
let watches: { stop(): void }[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-watch-"))
  file = join(folder, "trivium.yaml")
  changes = 0
  failures = []
  watches = []
})

afterEach(() => {
  for (const each of watches) each.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function start(options: { debounceMs?: number; pollMs?: number } = {}) {
  const onChange = () => changes++
  const onUnreadable = (code: string) => failures.push(code)
  const watch = watchConfig(file, { onChange, onUnreadable, debounceMs: 20, pollMs: neverMs, ...options })
  watches.push(watch)
  await sleep(50)
  return watch
}

/** Expects this many changes since the start, and no more. */
async function expectChanges(count: number) {
  const end = performance.now() + patienceMs
  while (changes < count && performance.now() < end) await sleep(5)
  await sleep(quietMs)
  expect(changes).toBe(count)
}

function replace(content: string) {
  writeFileSync(`${file}.tmp`, content)
  renameSync(`${file}.tmp`, file)
}

describe("a change of the file", () => {
  test("a change is noticed once when the file is written in place", async () => {
    writeFileSync(file, "one")
    await start()
    writeFileSync(file, "two")
    await expectChanges(1)
  })

  test("a change is noticed each time the file is replaced by a rename", async () => {
    writeFileSync(file, "one")
    await start()
    for (const [index, content] of ["two", "three", "four"].entries()) {
      replace(content)
      await expectChanges(index + 1)
    }
    writeFileSync(file, "five, in place")
    await expectChanges(4)
  })

  test("a change is noticed once when many writes follow closely", async () => {
    writeFileSync(file, "one")
    // Long, because a busy machine may stall between two writes.
    await start({ debounceMs: 1000 })
    for (let index = 0; index < 20; index++) {
      writeFileSync(file, `content ${index}`)
      await sleep(5)
    }
    await expectChanges(1)
  })

  test("a change is noticed once when the file is deleted and created with other content", async () => {
    writeFileSync(file, "one")
    await start()
    rmSync(file)
    await expectChanges(0)
    writeFileSync(file, "two")
    await expectChanges(1)
  })

  test("a change is noticed once when the file appears for the first time", async () => {
    await start()
    writeFileSync(file, "one")
    await expectChanges(1)
  })

  test("a change is noticed once when the target of a symbolic link is written in place", async () => {
    writeFileSync(join(folder, "real.yaml"), "one")
    symlinkSync("real.yaml", file)
    await start()
    writeFileSync(join(folder, "real.yaml"), "two")
    await expectChanges(1)
  })

  test("a change is noticed once when the folder's ..data link is swapped, as Kubernetes does", async () => {
    const publish = (version: string, content: string) => {
      mkdirSync(join(folder, version))
      writeFileSync(join(folder, version, "trivium.yaml"), content)
      symlinkSync(version, join(folder, "..data_tmp"))
      renameSync(join(folder, "..data_tmp"), join(folder, "..data"))
    }
    publish("..v1", "one")
    symlinkSync(join("..data", "trivium.yaml"), file)
    await start()
    for (const [index, version] of ["..v2", "..v3"].entries()) {
      publish(version, `content of ${version}`)
      rmSync(join(folder, `..v${index + 1}`), { recursive: true })
      await expectChanges(index + 1)
    }
  })

  test("a change is noticed once while other files in the folder change all the time", async () => {
    writeFileSync(file, "one")
    await start()
    const noise = setInterval(() => writeFileSync(join(folder, "noise"), String(Math.random())), 2)
    await sleep(50)
    replace("two")
    await expectChanges(1)
    clearInterval(noise)
  })
})

test("a change is reported with the settled content, even if the file has changed again", async () => {
  writeFileSync(file, "one")
  const seen: string[] = []
  const onChange = (text: string) => {
    if (seen.length === 0) writeFileSync(file, "")
    seen.push(text)
  }
  watches.push(watchConfig(file, { onChange, debounceMs: 20, pollMs: neverMs }))
  writeFileSync(file, "two")
  const end = performance.now() + patienceMs
  while (seen.length < 2 && performance.now() < end) await sleep(5)
  expect(seen).toEqual(["two", ""])
})

describe("a file that cannot be read", () => {
  test.each([
    ["deleted", "ENOENT", () => {}],
    ["replaced by a folder", "EISDIR", () => mkdirSync(file)],
    ["a link to itself", "ELOOP", () => symlinkSync("trivium.yaml", file)],
  ])("a file that is %s is reported once, and is no change when the old content is back", async (_, code, act) => {
    writeFileSync(file, "one")
    await start({ pollMs: 30 })
    rmSync(file)
    act()
    const end = performance.now() + patienceMs
    while (failures.length === 0 && performance.now() < end) await sleep(5)
    await expectChanges(0)
    expect(failures).toEqual([code])
    rmSync(file, { recursive: true, force: true })
    writeFileSync(file, "one")
    await expectChanges(0)
    writeFileSync(file, "two")
    await expectChanges(1)
  })

  test("a file that is missing for a moment, while it is replaced, is not reported", async () => {
    writeFileSync(file, "one")
    await start({ debounceMs: 100 })
    rmSync(file)
    writeFileSync(file, "two")
    await expectChanges(1)
    expect(failures).toEqual([])
  })
})

describe("unchanged content", () => {
  test("rewriting the same content or touching the file is not a change", async () => {
    writeFileSync(file, "one")
    await start()
    writeFileSync(file, "one")
    replace("one")
    utimesSync(file, new Date(), new Date())
    await expectChanges(0)
  })

  test("content that is restored before it settles is not a change", async () => {
    writeFileSync(file, "one")
    await start({ debounceMs: 50 })
    writeFileSync(file, "")
    writeFileSync(file, "one")
    await expectChanges(0)
  })
})

test("a missing or replaced folder is found by polling", async () => {
  rmSync(folder, { recursive: true })
  await start({ pollMs: 30 })
  mkdirSync(folder)
  writeFileSync(file, "one")
  await expectChanges(1)
  renameSync(folder, `${folder}-old`)
  mkdirSync(folder)
  writeFileSync(file, "two")
  await expectChanges(2)
  rmSync(`${folder}-old`, { recursive: true })
})

test("nothing is reported after stop", async () => {
  writeFileSync(file, "one")
  const watch = await start()
  writeFileSync(file, "two")
  watch.stop()
  writeFileSync(file, "three")
  await expectChanges(0)
})

test("watching does not keep the process alive", () => {
  const script = join(folder, "script.ts")
  const source = `import { watchConfig } from ${JSON.stringify(join(import.meta.dir, "watch.ts"))}
watchConfig(${JSON.stringify(file)}, { onChange() {} })
console.log("watching")`
  writeFileSync(script, source)
  const { status, stdout } = spawnSync(process.execPath, [script], { timeout: 10_000, encoding: "utf8" })
  expect({ status, stdout }).toEqual({ status: 0, stdout: "watching\n" })
})
