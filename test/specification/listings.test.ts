// The entries of the listings: of every model, in demo mode, in which the whole catalogue can be called.
import { afterAll, beforeAll, expect } from "bun:test"
import { RunningGateway } from "../stage/gateway.ts"
import { generate, list, MODEL, messages, objectOf, type SpecBody, sendRequest } from "./client-styles.ts"
import { nothingForgotten, specify } from "./specify.ts"

let demo: RunningGateway
let generating: readonly SpecBody[]
let conversing: readonly SpecBody[]
beforeAll(async () => {
  demo = await RunningGateway.start()
  generating = ((await objectOf(await list(demo, generate))).models ?? []) as SpecBody[]
  conversing = ((await objectOf(await list(demo, messages))).data ?? []) as SpecBody[]
})
afterAll(() => demo.stop())

const NAME = /^[^/\s]+\/\S+$/

/** Every entry's member of this name; there must be entries. */
function each(entries: readonly SpecBody[], name: string): unknown[] {
  expect(entries.length).toBeGreaterThan(100)
  return entries.map((entry) => entry[name])
}

specify("generate-listing.name", "is models/<provider>/<model-name>, each once", () => {
  const names = each(generating, "name")
  for (const name of names) expect(name).toMatch(/^models\/[^/\s]+\/\S+$/)
  expect(new Set(names).size).toBe(names.length)
})
specify("generate-listing.name", "can be called and retrieved under the listed name", async () => {
  for (const { name } of generating.filter((_, index) => index % 40 === 0)) {
    const address = `${demo.url}/genapi/v1beta/${name}`
    const headers = { "content-type": "application/json", ...generate.keyHeader(demo.key) }
    expect(await objectOf(await fetch(address, { headers }))).toMatchObject({ name })
    const body = JSON.stringify(generate.body(MODEL))
    const response = await fetch(`${address}:generateContent`, { method: "POST", headers, body })
    expect({ name, status: response.status }).toEqual({ name, status: 200 })
  }
})

specify("generate-listing.displayName", "is a string that is not empty", () => {
  for (const name of each(generating, "displayName")) expect(name).toEqual(expect.stringMatching(/./))
})

specify("generate-listing.version", "is a string that is not empty", () => {
  for (const version of each(generating, "version")) expect(version).toEqual(expect.stringMatching(/./))
})

for (const name of ["inputTokenLimit", "outputTokenLimit"] as const) {
  specify(`generate-listing.${name}`, "is a whole number above 0", () => {
    each(generating, name)
    const without = generating.filter((entry) => !Number.isInteger(entry[name]) || Number(entry[name]) < 1)
    expect(without.map((entry) => entry.name)).toEqual([])
  })
}

const METHODS = ["generateContent", "streamGenerateContent"]

specify("generate-listing.supportedGenerationMethods", "are strings, both methods among them", () => {
  for (const methods of each(generating, "supportedGenerationMethods")) {
    expect((methods as unknown[]).every((method) => typeof method === "string")).toBe(true)
    expect(methods).toEqual(expect.arrayContaining(METHODS))
  }
})
specify("generate-listing.supportedGenerationMethods", "can all be called", async () => {
  const { name, supportedGenerationMethods } = generating[0] ?? {}
  for (const method of (supportedGenerationMethods ?? []) as string[]) {
    const response = await sendRequest(demo, {
      ...generate,
      path: () => `/genapi/v1beta/${name}:${method}`,
    })
    expect({ method, status: response.status }).toEqual({ method, status: 200 })
    await response.text()
  }
})

specify("messages-listing.id", "is <provider>/<model-name>, each once", () => {
  const ids = each(conversing, "id")
  for (const id of ids) expect(id).toMatch(NAME)
  expect(new Set(ids).size).toBe(ids.length)
})
specify("messages-listing.id", "can be called and retrieved under the listed name", async () => {
  for (const { id } of conversing.filter((_, index) => index % 40 === 0)) {
    expect(await objectOf(await list(demo, messages, `/msgapi/v1/models/${id}`))).toMatchObject({ id })
    expect((await sendRequest(demo, messages, { model: String(id) })).status).toBe(200)
  }
})

specify("messages-listing.type", "is model", () => {
  for (const type of each(conversing, "type")) expect(type).toBe("model")
})

nothingForgotten("listings")
