import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { type RaceEntrant, raceAttempts } from "./hedge.ts"

/** A contender that answers or fails after the given milliseconds. */
interface ContenderScript {
  readonly name: string
  readonly afterMs: number
  readonly fails: boolean
}

class ScriptedContender implements RaceEntrant<string> {
  readonly answer: Promise<string>
  wasOutrun = false

  constructor(
    readonly script: ContenderScript,
    private readonly seen: { readonly failed: string[]; readonly dropped: string[]; readonly ends: string },
  ) {
    const { name, afterMs, fails } = script
    this.answer = Bun.sleep(afterMs).then(() => {
      if (fails) throw new Error(name)
      return name
    })
    // A later reader still sees the rejection.
    this.answer.catch(() => {})
  }

  onFailed(thrown: unknown): void {
    this.seen.failed.push(this.script.name)
    if (this.script.name === this.seen.ends) throw thrown
  }

  cancel(): void {
    this.wasOutrun = true
  }

  discard(answer: string): void {
    this.seen.dropped.push(answer)
  }
}

async function race(first: ContenderScript, second: ContenderScript | undefined, { hedgeMs = 10, ends = "" } = {}) {
  const seen = { failed: [] as string[], dropped: [] as string[], ends }
  const runner = new ScriptedContender(first, seen)
  const runners = [runner]
  const startSecond = async () => {
    if (!second) return undefined
    const rival = new ScriptedContender(second, seen)
    runners.push(rival)
    return rival
  }
  const won = await raceAttempts(runner, { afterMs: hedgeMs, startSecond }).catch((thrown: Error) => thrown)
  const outrun = () => runners.filter(({ wasOutrun }) => wasOutrun).map(({ script }) => script.name)
  return { won: won instanceof Error ? won : won?.script.name, ...seen, outrun, runners }
}

const one = (afterMs: number, fails = false): ContenderScript => ({ name: "one", afterMs, fails })
const two = (afterMs: number, fails = false): ContenderScript => ({ name: "two", afterMs, fails })

describe("a second attempt", () => {
  test("a second attempt is not started if the first answers or fails in time", async () => {
    expect(await race(one(0), two(0), { hedgeMs: 500 })).toMatchObject({ won: "one", runners: [expect.anything()] })
    const failing = await race(one(0, true), two(0), { hedgeMs: 500 })
    expect(failing).toMatchObject({ won: undefined, failed: ["one"], runners: [expect.anything()] })
  })

  test("a second attempt that answers first wins, and the first is abandoned and its later answer dropped", async () => {
    const raced = await race(one(500), two(0))
    expect(raced).toMatchObject({ won: "two", failed: [] })
    expect(raced.outrun()).toEqual(["one"])
    await raced.runners[0]?.answer
    await Bun.sleep(0)
    expect(raced.dropped).toEqual(["one"])
  })

  test("a second attempt is abandoned if the first answers after all", async () => {
    const raced = await race(one(30), two(500))
    expect(raced.won).toBe("one")
    expect(raced.outrun()).toEqual(["two"])
  })

  test("either attempt answers if the other fails", async () => {
    expect(await race(one(20, true), two(500))).toMatchObject({ won: "two", failed: ["one"] })
    const second = await race(one(500), two(0, true))
    expect(second).toMatchObject({ won: "one", failed: ["two"] })
    expect(second.outrun()).toEqual([])
  })

  test("when both attempts fail, both are reported", async () => {
    expect(await race(one(500, true), two(0, true))).toMatchObject({ won: undefined, failed: ["two", "one"] })
  })

  test("a second attempt with a final failure ends the first as well", async () => {
    const raced = await race(one(500), two(0, true), { ends: "two" })
    expect(raced.won).toEqual(new Error("two"))
    expect(raced.outrun()).toEqual(["one"])
  })

  test("no second attempt is made when no other target exists", async () => {
    expect(await race(one(30), undefined)).toMatchObject({ won: "one", failed: [], dropped: [] })
  })
})

test("in every order of answers, failures and delays, one attempt wins, each is reported once, and none keeps running", async () => {
  const scripts = (name: string) => fc.record({ name: fc.constant(name), afterMs: fc.nat(12), fails: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(scripts("one"), scripts("two"), fc.nat(8), async (first, second, hedgeMs) => {
      const { won, failed, outrun, runners } = await race(first, second, { hedgeMs })
      const names = runners.map(({ script: { name } }) => name)
      expect([...(typeof won === "string" ? [won] : []), ...failed, ...outrun()].sort()).toEqual(names.sort())
      if (won === undefined) expect(outrun()).toEqual([])
    }),
    { numRuns: 60 },
  )
})
