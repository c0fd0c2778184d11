import { expect, test } from "bun:test"
import { StoreReadiness } from "./store-readiness.ts"

/** A ledger whose store fails on demand. */
function stage() {
  let nowMs = 10_000
  const store = { works: true, probes: 0 }
  let lastWrite = { at: 0, succeeded: true }
  const write = () => {
    lastWrite = { at: nowMs, succeeded: store.works }
    if (!store.works) throw new Error("the disk is full")
  }
  const ledger = {
    get lastWrite() {
      return lastWrite
    },
    probe: () => {
      store.probes++
      write()
    },
  }
  const readiness = new StoreReadiness(ledger, () => nowMs)
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { store, readiness, write, pass }
}

test("the store is probed at most once a second, however often readiness is read", () => {
  const { store, readiness, pass } = stage()
  for (let calls = 0; calls < 5000; calls++) {
    expect(readiness.isWritable()).toBe(true)
    pass(1)
  }
  expect(store.probes).toBe(5)
})

test("a store with recent writes is not probed", () => {
  const { store, readiness, write, pass } = stage()
  for (let turn = 0; turn < 20; turn++) {
    write()
    pass(500)
    expect(readiness.isWritable()).toBe(true)
  }
  expect(store.probes).toBe(0)
})

test("a failed write counts at once, and a probe detects recovery", () => {
  const { store, readiness, write, pass } = stage()
  expect(readiness.isWritable()).toBe(true)
  store.works = false
  expect(write).toThrow()
  expect(readiness.isWritable()).toBe(false)
  pass(1000)
  expect(readiness.isWritable()).toBe(false)
  store.works = true
  expect(readiness.isWritable()).toBe(false)
  pass(1000)
  expect(readiness.isWritable()).toBe(true)
})

test("an old outcome does not count after the clock was set back", () => {
  const { store, readiness, pass } = stage()
  expect(readiness.isWritable()).toBe(true)
  store.works = false
  pass(-3_600_000)
  expect(readiness.isWritable()).toBe(false)
})
