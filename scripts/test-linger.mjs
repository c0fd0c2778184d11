// Loaded before every test file. `bun test` leaves a file as soon as its last test is done and drops its timers, so that
// what they would have thrown is lost. This waits for them, as long as they keep the process alive.
import { afterAll } from "bun:test"

const graceMs = 10
const patienceMs = 1000
const pending = new Map()
const { setTimeout, clearTimeout } = globalThis

globalThis.setTimeout = new Proxy(setTimeout, {
  apply(target, self, [callback, ...rest]) {
    const tracked = (...values) => {
      pending.delete(Number(timer))
      return callback(...values)
    }
    const timer = Reflect.apply(target, self, [typeof callback === "function" ? tracked : callback, ...rest])
    pending.set(Number(timer), timer)
    return timer
  },
})

globalThis.clearTimeout = new Proxy(clearTimeout, {
  apply(target, self, [timer]) {
    pending.delete(Number(timer))
    return Reflect.apply(target, self, [timer])
  },
})

afterAll(async () => {
  const end = performance.now() + patienceMs
  do await new Promise((resolve) => setTimeout(resolve, graceMs))
  while ([...pending.values()].some((timer) => timer.hasRef()) && performance.now() < end)
})
