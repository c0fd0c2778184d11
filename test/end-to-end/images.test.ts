// Images through OpenAI's own client library, over every kind of image host.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { keyFile, TokenOffice } from "../providers/google.ts"
import { eventually } from "../stage/eventually.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"
import { VERSIONS } from "./client-versions.ts"
import { GENAI_VERSIONS } from "./genai-versions.ts"
import {
  answerAs,
  GIVES_ADDRESSES,
  HOST_NAMES,
  HOSTS,
  hostOf,
  hostsConfig,
  pictureFor,
  type ReceivedImageCall,
} from "./image-hosts.ts"

const folder = mkdtempSync(join(tmpdir(), "trivium-images-"))
let office: TokenOffice
let upstream: ScriptedUpstream
let gateway: InProcessGateway
let received: ReceivedImageCall[] = []

const asUsual: UpstreamScript = (request, reply) => {
  const call = answerAs(request, reply)
  if (call) received.push(call)
}

beforeAll(async () => {
  office = new TokenOffice()
  upstream = await ScriptedUpstream.start()
  const file = join(folder, "key.json")
  writeFileSync(file, JSON.stringify(keyFile(`${upstream.origin}${office.path}`)))
  gateway = InProcessGateway.start({ config: hostsConfig(upstream.origin, file) })
})
beforeEach(() => {
  received = []
  script(asUsual)
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
  rmSync(folder, { recursive: true, force: true })
})

function script(answer: UpstreamScript): void {
  upstream.script = (request, reply) =>
    request.path === office.path ? office.exchange(request, reply) : answer(request, reply)
}

function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(gateway.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
}
const draw = (body: object, headers?: Record<string, string>) => post("/v1/images/generations", body, headers)

interface ImagesBody {
  created: number
  data: { b64_json?: string; url?: string }[]
  usage?: { input_tokens: number; output_tokens: number; total_tokens: number }
}
const read = async (answer: Response) =>
  (await answer.json()) as ImagesBody & { error: { code: string; param: string; message: string } }

/** The receipt of an answer, once it is written. */
async function receiptOf(answer: Response): Promise<Record<string, unknown>> {
  const id = answer.headers.get("x-request-id")
  const headers = { authorization: `Bearer ${gateway.key}` }
  let receipt: unknown
  await eventually(
    async () => {
      const got = await fetch(`${gateway.url}/v1/receipts/${id}`, { headers })
      receipt = await got.json()
      return got.status === 200
    },
    { what: "a receipt" },
  )
  return receipt as Record<string, unknown>
}

const prompt = "Ein Fuchs im Schnee, größer"
const picture = pictureFor(prompt)

describe.each(HOST_NAMES)("images over %s", (name) => {
  const model = `test/${name}`
  const { most, tokens, wide } = hostOf(name)
  /** More than go into two calls, as long as that is few. */
  const many = Math.min(2 * most + 1, 9 + most)

  describe.each(VERSIONS)("$name", (version) => {
    const client = () => new version.OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })

    test("a client that requests bytes gets bytes", async () => {
      const { data, created } = await client().images.generate({ model, prompt, response_format: "b64_json" })
      expect(data?.map(({ b64_json, url }) => [b64_json, url])).toEqual([[picture, undefined]])
      expect(created).toBeGreaterThan(0)
      expect(received.map(({ prompt: each }) => each)).toEqual([prompt])
    })

    test("a client that requests a URL gets the host's URL, or a data URL", async () => {
      const { data } = await client().images.generate({ model, prompt, response_format: "url" })
      const address = GIVES_ADDRESSES.includes(name)
        ? "https://images.example/drawn.png"
        : `data:image/png;base64,${picture}`
      expect(data?.map(({ b64_json, url }) => [b64_json, url])).toEqual([[undefined, address]])
    })

    test("a client gets as many images as it requests, at any batch size of the host", async () => {
      const { data } = await client().images.generate({ model, prompt, n: many, response_format: "b64_json" })
      expect(data?.map(({ b64_json }) => b64_json)).toEqual(Array.from({ length: many }, () => picture))
      expect(received).toHaveLength(Math.ceil(many / most))
      expect(received.reduce((sum, { count }) => sum + count, 0)).toBe(many)
    })
  })

  test("the size is sent in the host's vocabulary, and a changed size is reported", async () => {
    const answer = await draw({ model, prompt, size: "1536x1024" })
    expect([answer.status, received[0]?.size]).toEqual([200, wide.size])
    expect(answer.headers.get("x-gateway-losses")).toBe(wide.loses ? "1; size" : null)
    const square = await draw({ model, prompt, size: "1024x1024" })
    expect(square.headers.get("x-gateway-losses")).toBeNull()
  })

  test("images are charged one by one, as many as arrived", async () => {
    const answer = await draw({ model: `${model}-each`, prompt, n: many })
    expect(Number(answer.headers.get("x-gateway-cost"))).toBeCloseTo(0.04 * many, 9)
    const receipt = await receiptOf(answer)
    expect(receipt).toMatchObject({ outcome: "settled", as_booked: true, usage: { images: many } })
  })

  test("images are charged by the token, as reported by the host or counted locally", async () => {
    const answer = await draw({ model, prompt, n: many })
    const { usage } = await read(answer)
    const receipt = await receiptOf(answer)
    if (!tokens) {
      expect(usage).toBeUndefined()
      expect(receipt).toMatchObject({ outcome: "settled", as_booked: true, facts: { basis: "estimated" } })
      expect(receipt.usage).toMatchObject({ image_output: 1056 * many })
      return
    }
    const calls = Math.ceil(many / most)
    const { input, output } = tokens(1)
    const { image } = tokens(many)
    const [paidIn, paidOut] = [input * calls, output * calls]
    expect(receipt).toMatchObject({ outcome: "settled", as_booked: true, facts: { basis: "reported" } })
    expect(usage).toMatchObject({ input_tokens: paidIn, output_tokens: paidOut + image })
    // Chat completions do not report the tokens of images separately.
    const perImageToken = name === "openrouter" ? 2 : 10
    const cost = (paidIn + 2 * paidOut + perImageToken * image) / 1_000_000
    expect(Number(answer.headers.get("x-gateway-cost"))).toBeCloseTo(cost, 12)
  })
})

describe("translated image requests", () => {
  test("a setting without a counterpart is reported as a loss, or rejected if the caller would see it", async () => {
    const lost = await draw({ model: "test/imagen", prompt, quality: "high", user: "u", style: "vivid" })
    expect([lost.status, lost.headers.get("x-gateway-losses")]).toEqual([200, "3; quality, user, style"])
    const usual = await draw({ model: "test/imagen", prompt, quality: "auto", background: "opaque" })
    expect([usual.status, usual.headers.get("x-gateway-losses")]).toEqual([200, null])
    received = []
    const refused = await read(await draw({ model: "test/gemini", prompt, background: "transparent" }))
    expect([refused.error.code, refused.error.param]).toEqual(["unsupported_parameter", "background"])
    const webp = await read(await draw({ model: "test/imagen", prompt, output_format: "webp" }))
    expect([webp.error.code, webp.error.param]).toEqual(["unsupported_parameter", "output_format"])
    const strict = await read(await draw({ model: "test/imagen", prompt, quality: "high", provider: { strict: true } }))
    expect([strict.error.code, strict.error.param]).toEqual(["lossy_translation", "quality"])
    expect(received).toEqual([])
  })

  test("the output format is requested if the host supports it", async () => {
    await draw({ model: "test/imagen", prompt, output_format: "jpeg", output_compression: 80 })
    expect(received[0]?.body.parameters).toMatchObject({
      outputOptions: { mimeType: "image/jpeg", compressionQuality: 80 },
    })
  })

  test("members of the host's own are forwarded unchanged", async () => {
    await draw({ model: "test/together", prompt, steps: 4 })
    expect(received[0]?.body).toMatchObject({ steps: 4 })
    await draw({ model: "test/xai", prompt, aspect_ratio: "20:9" })
    expect(received[1]?.body).toMatchObject({ aspect_ratio: "20:9" })
  })

  test("a request for too many images is rejected before the first call", async () => {
    const { error } = await read(await draw({ model: "test/gemini", prompt, n: 33 }))
    expect([error.code, error.param]).toEqual(["invalid_parameter", "n"])
    expect(error.message).toContain("`n` asks for 33 images")
    expect(received).toEqual([])
  })

  test("an image request is explained without a call", async () => {
    const answer = await draw({ model: "test/imagen", prompt, user: "u", provider: { explain: true } })
    const { attempts } = (await answer.json()) as { attempts: unknown[] }
    expect(attempts).toMatchObject([
      { lane: "translate", upstream_protocol: "imagen-predict", losses: [{ path: "user" }] },
    ])
    expect(received).toEqual([])
  })

  test("a URL is returned if the host sends no bytes, and reported as a loss", async () => {
    script((_, reply) => reply.json({ data: [{ url: "https://images.example/only.png" }] }))
    const answer = await draw({ model: "test/xai", prompt, response_format: "b64_json" })
    expect((await read(answer)).data).toEqual([{ url: "https://images.example/only.png" }])
    expect(answer.headers.get("x-gateway-losses")).toBe("1; response_format")
  })
})

describe("relayed images", () => {
  test("every byte is kept if client and host use the same protocol", async () => {
    const written =
      '{"created": 5,"data":[ {"b64_json":"AA=="} ],"usage":{"input_tokens":1,"output_tokens":2.0}, "odd":1e2}'
    script((_, reply) => reply.raw(written))
    expect(await (await draw({ model: "test/gpt-image", prompt })).text()).toBe(written)
  })
})

describe("images that a host does not draw", () => {
  test.each([
    ["imagen", {}],
    ["imagen", { predictions: [{ raiFilteredReason: "Blocked." }] }],
    ["gemini", { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: { promptTokenCount: 5 } }],
    ["gemini", { candidates: [{ finishReason: "IMAGE_SAFETY" }], usageMetadata: { promptTokenCount: 5 } }],
    ["fireworks", { base64: ["AA=="], finishReason: "CONTENT_FILTERED" }],
  ])("an image blocked by a policy of %s is rejected and free: %j", async (name, body) => {
    script((_, reply) => reply.json(body))
    const answer = await draw({ model: `test/${name}-each`, prompt })
    const { error } = await read(answer)
    expect([answer.status, error.code, error.param]).toEqual([400, "content_refused", "prompt"])
    expect(await receiptOf(answer)).toMatchObject({ cost: "0" })
  })

  test("a missing image among several is not charged", async () => {
    const predictions = [{ mimeType: "image/png", bytesBase64Encoded: picture }, { raiFilteredReason: "Blocked." }]
    script((_, reply) => reply.json({ predictions }))
    const answer = await draw({ model: "test/imagen-each", prompt, n: 2 })
    expect((await read(answer)).data).toEqual([{ b64_json: picture }])
    expect(Number(answer.headers.get("x-gateway-cost"))).toBeCloseTo(0.04, 9)
  })

  test("a model that returns only text falls back to the next target", async () => {
    const textOnly = { candidates: [{ content: { parts: [{ text: "No." }] }, finishReason: "STOP" }] }
    script((request, reply) => (request.path.startsWith("/gemini") ? reply.json(textOnly) : asUsual(request, reply)))
    const answer = await draw({ model: "test/several", prompt, n: 2 })
    expect([answer.status, answer.headers.get("x-gateway-provider")]).toEqual([200, "gpt-image"])
    expect(Number(answer.headers.get("x-gateway-cost"))).toBeCloseTo(0.08, 9)
  })

  test("a failure of one of several calls falls back, and the next target draws all images", async () => {
    let calls = 0
    script((request, reply) => {
      if (request.path.startsWith("/gemini") && ++calls === 2) {
        return reply.json({ error: { code: 503, message: "Overloaded.", status: "UNAVAILABLE" } }, 503)
      }
      return asUsual(request, reply)
    })
    const answer = await draw({ model: "test/several", prompt, n: 3 })
    expect((await read(answer)).data).toHaveLength(3)
    expect([answer.headers.get("x-gateway-provider"), answer.headers.get("x-gateway-attempts")]).toEqual([
      "gpt-image",
      "2",
    ])
  })

  test("a rejection by the host is relayed with its message", async () => {
    const status = "INVALID_ARGUMENT"
    script((_, reply) => reply.json({ error: { code: 400, message: "Too long a prompt.", status } }, 400))
    const answer = await draw({ model: "test/imagen", prompt })
    expect([answer.status, (await read(answer)).error.message]).toEqual([400, "Too long a prompt."])
  })
})

describe("images in Google's own protocol", () => {
  const body = {
    contents: [{ role: "user", parts: [{ text: prompt }] }],
    generationConfig: { responseModalities: ["TEXT", "IMAGE"], imageConfig: { aspectRatio: "3:2" } },
  }

  test.each(GENAI_VERSIONS)("$name reads the generated image", async (version) => {
    const httpOptions = { baseUrl: `${gateway.url}/gemini`, apiVersion: "v1beta" }
    const client = new version.GoogleGenAI({ apiKey: gateway.key, httpOptions })
    const { data } = await client.models.generateContent({
      model: "test/gemini",
      contents: prompt,
      config: { responseModalities: ["TEXT", "IMAGE"] },
    })
    expect(data).toBe(picture)
  })

  test("the request is forwarded unchanged, and images are priced as such", async () => {
    const answer = await post("/genapi/v1beta/models/test/gemini:generateContent", body)
    expect(answer.status).toBe(200)
    expect(JSON.parse(upstream.lastRequest().body.toString())).toEqual(body)
    const { input, output, image } = HOSTS.gemini.tokens(1)
    expect(Number(answer.headers.get("x-gateway-cost"))).toBeCloseTo((input + 2 * output + 10 * image) / 1_000_000, 12)
    const each = await post("/genapi/v1beta/models/test/gemini-each:generateContent", body)
    expect(Number(each.headers.get("x-gateway-cost"))).toBeCloseTo(0.04, 9)
  })

  test("a stream with an image of any size passes and is priced alike", async () => {
    const large = Buffer.alloc(3_000_000, 7).toString("base64")
    const { input, output, image } = HOSTS.gemini.tokens(1)
    script(async (_, reply) => {
      const data = { inlineData: { mimeType: "image/png", data: large } }
      const details = [{ modality: "IMAGE", tokenCount: image }]
      const usageMetadata = { promptTokenCount: input, candidatesTokenCount: output + image }
      reply.stream()
      await reply.write(
        `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text: "Here." }] } }] })}\r\n\r\n`,
      )
      const last = { content: { parts: [data] }, finishReason: "STOP" }
      const end = { candidates: [last], usageMetadata: { ...usageMetadata, candidatesTokensDetails: details } }
      await reply.write(`data: ${JSON.stringify(end)}\r\n\r\n`)
      reply.end()
    })
    const answer = await post("/genapi/v1beta/models/test/gemini:streamGenerateContent?alt=sse", body)
    expect((await answer.text()).includes(large)).toBeTrue()
    const cost = (input + 2 * output + 10 * image) / 1_000_000
    expect(Number((await receiptOf(answer)).cost)).toBeCloseTo(cost, 12)
  })

  test("models that draw no images there are rejected with the right endpoint", async () => {
    for (const name of ["gpt-image", "openrouter"]) {
      const answer = await post(`/genapi/v1beta/models/test/${name}:generateContent`, body)
      const { error } = await read(answer)
      expect([name, answer.status, error.code]).toEqual([name, 400, "invalid_parameter"])
      expect(error.message).toContain("/v1/images/generations")
    }
    expect(received).toEqual([])
  })
})

describe("money", () => {
  test("the same idempotency key is billed once", async () => {
    const headers = { "idempotency-key": "drawn once" }
    expect((await draw({ model: "test/gemini", prompt, n: 2 }, headers)).status).toBe(200)
    const again = await draw({ model: "test/gemini", prompt, n: 2 }, headers)
    expect([again.status, (await read(again)).error.code]).toEqual([409, "idempotency_replayed"])
    expect(received).toHaveLength(2)
  })

  test("a balance for two images rejects a request for three before any call, and pays for two", async () => {
    const { text: poor } = await gateway.gateway.keys.createFunded({ name: "poor" }, 100_000_000n)
    const headers = { authorization: `Bearer ${poor}` }
    const three = await draw({ model: "test/gemini-each", prompt, n: 3 }, headers)
    expect([three.status, (await read(three)).error.code]).toEqual([403, "insufficient_balance"])
    expect(received).toEqual([])
    expect((await draw({ model: "test/gemini-each", prompt, n: 2 }, headers)).status).toBe(200)
    const another = await draw({ model: "test/gemini-each", prompt }, headers)
    expect([another.status, received.length]).toEqual([403, 2])
  })

  test("a client that leaves ends all calls", async () => {
    const begun: Promise<number>[] = []
    script((_, reply) => void begun.push(reply.closed))
    const leaving = new AbortController()
    const pending = fetch(`${gateway.url}/v1/images/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "test/gemini", prompt, n: 8 }),
      signal: leaving.signal,
    }).catch(() => "left")
    await eventually(() => begun.length === 4, { what: "four calls at once" })
    leaving.abort()
    expect(await pending).toBe("left")
    await Promise.all(begun)
  })
})

test("a large prompt is processed like any other", async () => {
  const long = "snow ".repeat(300_000)
  const answer = await draw({ model: "test/gemini", prompt: long, response_format: "b64_json" })
  expect((await read(answer)).data).toEqual([{ b64_json: pictureFor(long) }])
})

test("a gateway without any configuration draws with every author's models", async () => {
  const demo = InProcessGateway.start({ config: "" })
  try {
    const [version] = VERSIONS
    if (!version) throw new Error("there is a client")
    const client = new version.OpenAI({ apiKey: demo.key, baseURL: `${demo.url}/v1`, maxRetries: 0 })
    for (const model of ["openai/gpt-image-1", "openai/dall-e-3", "google/imagen-4", "google/gemini-2.5-flash-image"]) {
      const { data } = await client.images.generate({ model, prompt, n: 12, response_format: "url" })
      expect(data?.map(({ url }) => url?.slice(0, 22))).toEqual(Array(12).fill("data:image/png;base64,"))
    }
  } finally {
    await demo.stop()
  }
})

test("image models are listed for every host that serves them, and unserved ones are not", async () => {
  const headers = { authorization: `Bearer ${gateway.key}` }
  const { data } = (await (await fetch(`${gateway.url}/v1/models`, { headers })).json()) as { data: { id: string }[] }
  const ids = data.map(({ id }) => id)
  for (const name of HOST_NAMES) expect(ids).toContain(`test/${name}`)
  expect(ids).not.toContain("test/unreached")
})
