import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { ListLink } from "./event-loop/linked-list.ts"
import { type IdleConnection, IdleConnections, SILENCE_MS } from "./idle-connections.ts"

class FakeConnection implements IdleConnection {
  readonly byOwner = new ListLink<this>(this)
  readonly byAge = new ListLink<this>(this)

  constructor(
    readonly owner: string,
    readonly idleSince: number,
  ) {}
}

describe("idle connections", () => {
  test("idle connections are taken by their owner, the most recently used first", () => {
    const idle = new IdleConnections<FakeConnection>()
    const [first, second, others] = [new FakeConnection("a", 0), new FakeConnection("a", 1), new FakeConnection("b", 2)]
    for (const each of [first, second, others]) idle.add(each)
    expect(idle.takeOwn("a")).toBe(second)
    expect(idle.takeOwn("a")).toBe(first)
    expect(idle.takeOwn("a")).toBeUndefined()
    expect(idle.size).toBe(1)
  })

  test("idle connections are given to other owners only after a silence, the most recently used first", () => {
    const idle = new IdleConnections<FakeConnection>()
    const [first, second] = [new FakeConnection("a", 0), new FakeConnection("a", 100)]
    idle.add(first)
    idle.add(second)
    expect(idle.takeSilent(SILENCE_MS - 1)).toBeUndefined()
    expect(idle.takeSilent(SILENCE_MS + 100)).toBe(second)
    expect(idle.takeSilent(SILENCE_MS + 100)).toBe(first)
    expect(idle.takeOwn("a")).toBeUndefined()
  })

  type IdleStep =
    | { readonly kind: "add" | "own"; readonly owner: string }
    | { readonly kind: "silent" | "forget" }
    | { readonly kind: "remove"; readonly index: number }
    | { readonly kind: "old"; readonly ms: number }

  const owner = fc.constantFrom("a", "b", "c")
  const step: fc.Arbitrary<IdleStep> = fc.oneof(
    { weight: 3, arbitrary: owner.map((owner) => ({ kind: "add", owner }) as const) },
    owner.map((owner) => ({ kind: "own", owner }) as const),
    fc.constantFrom({ kind: "silent" } as const, { kind: "forget" } as const),
    fc.nat(5).map((index) => ({ kind: "remove", index }) as const),
    fc.nat(3000).map((ms) => ({ kind: "old", ms }) as const),
  )

  test("idle connections behave as a plain list under any operations", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.nat(700)), { maxLength: 60 }), (steps) => {
        const idle = new IdleConnections<FakeConnection>()
        let plain: FakeConnection[] = []
        let now = 0
        const take = (expected: FakeConnection | undefined, found: FakeConnection | undefined) => {
          expect(found).toBe(expected)
          plain = plain.filter((each) => each !== expected)
        }
        for (const [step, ms] of steps) {
          now += ms
          if (step.kind === "add") {
            const added = new FakeConnection(step.owner, now)
            plain.push(added)
            idle.add(added)
          } else if (step.kind === "own") {
            take(
              plain.findLast(({ owner }) => owner === step.owner),
              idle.takeOwn(step.owner),
            )
          } else if (step.kind === "silent") {
            take(
              plain.findLast(({ idleSince }) => now - idleSince >= SILENCE_MS),
              idle.takeSilent(now),
            )
          } else if (step.kind === "remove") {
            const [removed] = plain.splice(step.index, 1)
            if (removed) idle.remove(removed)
          } else if (step.kind === "old") {
            take(
              plain.find(({ idleSince }, index) => index === 0 && idleSince < now - step.ms),
              idle.takeIdleSince(now - step.ms),
            )
          } else idle.forgetOwners()
          expect(idle.size).toBe(plain.length)
        }
      }),
    )
  })
})
