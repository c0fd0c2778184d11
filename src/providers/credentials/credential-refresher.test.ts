import { describe, expect, test } from "bun:test"
import { Secret } from "../../config/secret.ts"
import { TransportError } from "../../transport/transport-error.ts"
import { CredentialRefresher } from "./credential-refresher.ts"
import { type CloudCredentialSource, CredentialError } from "./credential-source.ts"

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/** A refresher with a scripted source and a settable clock. */
function stageRefresher() {
  const failures: string[] = []
  const state = {
    fetches: 0,
    now: Date.parse("2026-01-01T00:00:00Z"),
    failure: undefined as unknown,
    lifetimeMs: HOUR_MS,
  }
  const source: CloudCredentialSource<Secret> = {
    name: "a source",
    remedy: "Mend it",
    async fetch() {
      const number = ++state.fetches
      await Promise.resolve()
      if (state.failure !== undefined) throw state.failure
      return { credential: new Secret(`credential-${number}`), expiresAt: state.now + state.lifetimeMs }
    },
  }
  const onFailure = ({ message }: Error) => failures.push(message)
  const refresher = new CredentialRefresher(source, { now: () => state.now, onFailure })
  const get = async () => (await refresher.get()).reveal()
  return { state, refresher, get, failures }
}

/** Lets a background fetch end. */
const settle = () => Bun.sleep(5)

describe("a fetched credential", () => {
  test("a credential is fetched once for all waiting calls, and cached", async () => {
    const { state, get } = stageRefresher()
    const all = await Promise.all(Array.from({ length: 50 }, get))
    expect(new Set(all)).toEqual(new Set(["credential-1"]))
    expect(await get()).toBe("credential-1")
    expect(state.fetches).toBe(1)
  })

  test("a fetched credential is refreshed in the background shortly before it expires, and after its expiry all calls wait for it", async () => {
    const { state, get } = stageRefresher()
    await get()
    state.now += HOUR_MS - 4 * MINUTE_MS
    expect(await Promise.all([get(), get()])).toEqual(["credential-1", "credential-1"])
    await settle()
    expect(await get()).toBe("credential-2")
    state.now += HOUR_MS
    expect(await get()).toBe("credential-3")
    expect(state.fetches).toBe(3)
  })

  test("a credential that the source repeats shortly before its expiry is not fetched for every call", async () => {
    const { state, get } = stageRefresher()
    state.lifetimeMs = 4 * MINUTE_MS
    for (let call = 0; call < 10; call++) {
      await get()
      await settle()
    }
    expect(state.fetches).toBe(1)
    state.now += 31_000
    await get()
    await settle()
    expect(state.fetches).toBe(2)
  })

  test("a valid credential is used while its refresh fails, until it expires", async () => {
    const { state, get, failures } = stageRefresher()
    await get()
    state.failure = new CredentialError("it answered 500", true)
    state.now += HOUR_MS - MINUTE_MS
    expect(await get()).toBe("credential-1")
    await settle()
    state.now += MINUTE_MS - 1000
    expect(await get()).toBe("credential-1")
    state.now += 2000
    expect(get()).rejects.toBeInstanceOf(CredentialError)
    await settle()
    expect(failures).toEqual(Array.from({ length: 3 }, () => "a source: it answered 500. Mend it"))
  })

  test("a rejected credential is fetched again, unless another has replaced it", async () => {
    const { state, refresher, get } = stageRefresher()
    const first = await refresher.get()
    refresher.forget(first)
    expect(await get()).toBe("credential-2")
    refresher.forget(first)
    expect(await get()).toBe("credential-2")
    expect(state.fetches).toBe(2)
    expect(refresher.secrets().map((secret) => secret.reveal())).toEqual(["credential-2", "credential-1"])
  })
})

describe("a source that fails", () => {
  test("a failing source is retried after a growing pause, not for every call", async () => {
    const { state, get } = stageRefresher()
    state.failure = new CredentialError("no")
    const fails = async () => {
      const before = state.fetches
      await Promise.allSettled([get(), get()])
      return state.fetches - before
    }
    expect(await fails()).toBe(1)
    expect(await fails()).toBe(0)
    for (const pauseMs of [1000, 2000, 4000, 8000, 8000]) {
      state.now += pauseMs - 1
      expect(await fails()).toBe(0)
      state.now += 1
      expect(await fails()).toBe(1)
    }
    state.failure = undefined
    state.now += 8000
    expect(await get()).toStartWith("credential-")
  })

  test("a source that cannot be reached is a temporary error that names the cause", async () => {
    const { state, get } = stageRefresher()
    state.failure = new TransportError("connect")
    const error = await get().catch((thrown: unknown) => thrown)
    expect(error).toEqual(new CredentialError("a source: no answer (connect). Mend it", true))
    expect(error).toMatchObject({ isPassing: true })
  })
})

test("a source that never answers is waited for no longer than the limit", async () => {
  const source = { name: "a source", remedy: "Mend it", fetch: () => new Promise<never>(() => {}) }
  const refresher = new CredentialRefresher<Secret>(source, { fetchMs: 10 })
  const error = await refresher.get().catch((thrown: unknown) => thrown)
  expect(error).toEqual(new CredentialError("a source: no answer (connect-timeout). Mend it", true))
})
