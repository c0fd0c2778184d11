import { describe, expect, test } from "bun:test"
import { GatewayError } from "../canonical/gateway-error.ts"
import { StoreError } from "../store/contract.ts"
import { GroupCommit } from "./group-commit.ts"

/** A list with transactions that fails on demand. */
class FakeStore {
  readonly durable: string[][] = []
  failure: Error | undefined
  forbidden: string | undefined
  private open: string[] = []

  readonly transaction = <Result>(work: () => Result): Result => {
    this.open = []
    const result = work()
    if (this.failure) throw this.failure
    if (this.open.some((word) => word === this.forbidden)) throw new Error("forbidden")
    this.durable.push(this.open)
    return result
  }

  write(word: string): string {
    this.open.push(word)
    return word
  }
}

const setUp = () => {
  const store = new FakeStore()
  return { store, group: new GroupCommit(store.transaction) }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

test("the writes of one turn are one transaction, in order", async () => {
  const { store, group } = setUp()
  const words = ["a", "b", "c"]
  expect(await Promise.all(words.map((word) => group.add(() => store.write(word))))).toEqual(words)
  await group.add(() => store.write("d"))
  expect(store.durable).toEqual([["a", "b", "c"], ["d"]])
})

test("no write is acknowledged before it is durable", async () => {
  const { store, group } = setUp()
  const durableCounts: number[] = []
  const both = ["a", "b"].map((word) =>
    group.add(() => store.write(word)).then(() => durableCounts.push(store.durable.length)),
  )
  expect(store.durable).toEqual([])
  await Promise.all(both)
  expect(durableCounts).toEqual([1, 1])
})

test("a single write happens within the same turn", async () => {
  const { store, group } = setUp()
  void group.add(() => store.write("a"))
  await turn()
  expect(store.durable).toEqual([["a"]])
})

test("many writes are joined with those of the next turn, and no later", async () => {
  const { store, group } = setUp()
  const many = Array.from({ length: 8 }, (_, at) => group.add(() => store.write(`a${at}`)))
  setImmediate(() => many.push(group.add(() => store.write("b"))))
  await turn()
  expect(store.durable).toEqual([])
  await Promise.all(many)
  expect(store.durable.map(({ length }) => length)).toEqual([9])
})

test("very many writes are split into several transactions", async () => {
  const { store, group } = setUp()
  await Promise.all(Array.from({ length: 600 }, (_, at) => group.add(() => store.write(String(at)))))
  expect(store.durable.map(({ length }) => length)).toEqual([256, 256, 88])
})

test("flush writes all queued operations at once", async () => {
  const { store, group } = setUp()
  const all = Array.from({ length: 300 }, (_, at) => group.add(() => store.write(String(at))))
  group.flush()
  expect(store.durable.flat()).toHaveLength(300)
  await Promise.all(all)
})

describe("a failing write", () => {
  test("a failing write does not fail the others of its batch", async () => {
    const { store, group } = setUp()
    const refusal = new GatewayError("insufficient_balance", "no")
    const refused = group.add(() => {
      throw refusal
    })
    const others = ["a", "b"].map((word) => group.add(() => store.write(word)))
    expect(refused).rejects.toBe(refusal)
    expect(await Promise.all(others)).toEqual(["a", "b"])
    expect(store.durable).toEqual([["a", "b"]])
  })

  test("a write with an unexpected error leaves nothing, and the others are written", async () => {
    const { store, group } = setUp()
    const before = group.add(() => store.write("a"))
    const fault = new TypeError("a bug")
    const faulty = group.add(() => {
      store.write("half")
      throw fault
    })
    const after = group.add(() => store.write("b"))
    expect(faulty).rejects.toBe(fault)
    expect(await Promise.all([before, after])).toEqual(["a", "b"])
    expect(store.durable).toEqual([["a", "b"]])
  })

  test("a write that fails only at commit is found, and the others are written", async () => {
    const { store, group } = setUp()
    store.forbidden = "bad"
    const all = await Promise.allSettled(["a", "bad", "b"].map((word) => group.add(() => store.write(word))))
    expect(all.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"])
    expect(store.durable).toEqual([["a"], ["b"]])
  })

  test("if the store fails, all writes of the batch fail, and may be retried", async () => {
    const { store, group } = setUp()
    store.failure = new StoreError("full")
    const all = await Promise.allSettled(["a", "b"].map((word) => group.add(() => store.write(word))))
    expect(all).toMatchObject(["a", "b"].map(() => ({ reason: { code: "store_unavailable", status: 503 } })))
    expect(store.durable).toEqual([])
    store.failure = undefined
    expect(await group.add(() => store.write("c"))).toBe("c")
  })
})
