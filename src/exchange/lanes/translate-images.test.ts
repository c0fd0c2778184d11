import { describe, expect, test } from "bun:test"
import { model } from "../../catalog/model.fixture.ts"
import { codecs } from "../../protocols.ts"
import type { Target } from "../../routing/route-plan.ts"
import { Abort } from "../../transport/abort.ts"
import type { ExchangeContext } from "../exchange-context.ts"
import type { Attempt } from "./lane.ts"
import { imageDispatch } from "./translate-images.ts"
import type { InlineMedia } from "./translate-request.ts"

const ADDRESS = "https://images.example/a.png"

type FetchMedia = (addresses: readonly string[]) => Promise<ReadonlyMap<string, InlineMedia>>

/** The answer to a caller that requests bytes from a host that returns a URL, and the reported losses. */
async function bytesOf(fetchMedia: FetchMedia | undefined) {
  const body = { model: "a/b", prompt: "x", response_format: "b64_json" }
  const call = { protocol: { id: "openai-images" }, caller: { strict: false } }
  const reading = { outputLimits: { candidates: 1 }, routing: {} }
  const deps = { codecs, fetchMedia }
  const context = { call, deps, request: { text: "", body, reading } } as unknown as ExchangeContext
  const endpoint = {
    baseUrl: "http://host.example",
    send: async () => new Response(JSON.stringify({ data: [{ url: ADDRESS }] })),
    headersWith: () => new Headers(),
  }
  const plain = { model: model("a/b", { kind: "image" }), upstreamModel: "up", protocol: "xai-images", endpoint }
  const { target, lane } = await imageDispatch(plain as unknown as Target, context)
  const attempt = { ...context, target, lane, chargeSession: undefined } as unknown as Attempt
  const message = lane.message(attempt)
  await target.endpoint.send({ url: lane.url(attempt), ...message, abort: new Abort(), connectMs: 1000 })
  const { body: answered, images } = lane.answer(new Uint8Array(), attempt) ?? {}
  const { data } = JSON.parse(String(answered)) as { data: unknown[] }
  return { data, images, lost: message.losses?.map(({ path }) => path) }
}

describe("images of a host that returns only a URL", () => {
  test("images of a host that returns only a URL are fetched if that is allowed", async () => {
    const requested: string[] = []
    const fetched = await bytesOf(async (addresses) => {
      requested.push(...addresses)
      return new Map([[ADDRESS, { mediaType: "image/png", base64: "iVBORw0KGgo=" }]])
    })
    expect(fetched).toEqual({ data: [{ b64_json: "iVBORw0KGgo=" }], images: 1, lost: [] })
    expect(requested).toEqual([ADDRESS])
  })

  test.each<[string, FetchMedia | undefined]>([
    ["fetching is not allowed", undefined],
    ["fetching fails", () => Promise.reject(new Error("gone"))],
  ])("images of a host that returns only a URL stay a URL and are reported as a loss if %s", async (_, fetchMedia) => {
    expect(await bytesOf(fetchMedia)).toEqual({ data: [{ url: ADDRESS }], images: 1, lost: ["response_format"] })
  })
})
