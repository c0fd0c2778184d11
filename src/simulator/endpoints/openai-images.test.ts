import { expect, test } from "bun:test"
import { crc32, inflateSync } from "node:zlib"
import type { JsonObject } from "../../canonical/json.ts"
import { call, json } from "../simulator.fixture.ts"

interface ImagesResponse {
  created: number
  data: { b64_json?: string; url?: string }[]
  usage: { input_tokens: number; output_tokens: number; total_tokens: number }
}

const draw = (body: JsonObject) =>
  json<ImagesResponse>("/v1/images/generations", { model: "gpt-image-1", prompt: "a white cat", ...body })

/** The chunks of a PNG, each with its checksum verified. */
function chunksOf(png: Buffer): Map<string, Buffer> {
  expect(png.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n")
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const body = png.subarray(at + 4, at + 8 + length)
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(body))
    chunks.set(body.subarray(0, 4).toString("latin1"), body.subarray(4))
    at += 12 + length
  }
  return chunks
}

test.each(["1024x1024", "1536x1024", "7x5", "1x1"])("a picture of %s is a small PNG of that size", async (size) => {
  const { data } = await draw({ size })
  const png = Buffer.from(data[0]?.b64_json ?? "", "base64")
  expect(png.length).toBeLessThan(10_000)
  const chunks = chunksOf(png)
  expect([...chunks.keys()]).toEqual(["IHDR", "PLTE", "IDAT", "IEND"])
  const header = chunks.get("IHDR") ?? Buffer.alloc(13)
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  expect(`${width}x${height}`).toBe(size)
  expect([...header.subarray(8)]).toEqual([2, 3, 0, 0, 0])
  expect(chunks.get("PLTE")).toHaveLength(12)
  const pixels = inflateSync(chunks.get("IDAT") ?? Buffer.alloc(0))
  expect(pixels).toHaveLength(height * (1 + Math.ceil(width / 4)))
})

test("equal prompts give equal pictures, and several pictures of one request differ", async () => {
  const { data } = await draw({ n: 3 })
  expect(new Set(data.map(({ b64_json }) => b64_json)).size).toBe(3)
  expect((await draw({ n: 3 })).data).toEqual(data)
})

test("the address of a picture is a data URL with the picture", async () => {
  const [image] = (await draw({ response_format: "url", size: "256x256" })).data
  expect(image?.url).toStartWith("data:image/png;base64,iVBOR")
  expect(image).not.toHaveProperty("b64_json")
})

test("the parts of an image's usage add up to its total", async () => {
  const { usage } = await draw({ n: 2, size: "1024x1024" })
  expect(usage).toMatchObject({ input_tokens: 3, output_tokens: 2048, total_tokens: 2051 })
})

test("an image request that cannot be served is refused", async () => {
  for (const body of [{}, { prompt: "x", size: "big" }, { prompt: "x", size: "9999x1" }, { prompt: "x", n: 11 }]) {
    const response = await call("/v1/images/generations", body)
    expect(response.status).toBe(400)
    expect(await response.json()).toHaveProperty("error.type", "invalid_request_error")
  }
})
