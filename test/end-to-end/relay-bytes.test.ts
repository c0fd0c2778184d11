// The relay lane byte by byte: bytes that the gateway does not own pass unchanged, in both directions.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { isUtf8 } from "node:buffer"
import fc from "fast-check"
import { RunningGateway, upstreamConfig } from "../stage/gateway.ts"
import { requestHead, sendRaw } from "../stage/raw-exchange.ts"
import { completion, DONE, ScriptedUpstream } from "../stage/upstream.ts"
import { jsonObject, type MemberText, objectText } from "./json-text.ts"
import { STREAMS } from "./sse-streams.ts"

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: upstreamConfig(upstream.baseUrl) })
})
beforeEach(() => {
  upstream.script = (_, reply) => reply.json(completion("Hello."))
  upstream.requests.length = 0
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

/** The upstream's body for this request body. */
async function relayed(body: string | Uint8Array): Promise<string> {
  const response = await gateway.chat(body)
  const answer = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${answer}`)
  return upstream.lastRequest().body.toString()
}

// Outside the raw text below: Bun 1.4 rewrites what is not ASCII in String.raw as escapes.
const NAMES = "Zoë 🦊 名前"
const SEPARATORS = "\u2028\u2029\uffff\x7f\ufeff"

/** Members in an odd order and odd spellings; each must arrive as written here. */
const ODD_MEMBERS = String.raw`"zzz_unknown" :{"a":[ 1 ,2,	3 ], "a": "twice", "":null}
	, "messages":[ {"content":"\u0041\ud83d\ude00 \ud800 lone, \udc00 lone, \/ \b\f\n\r\t \" \\","role":"user"},
		{"role":"user","name":"${NAMES}","content":[{"type":"text","text":"${SEPARATORS}"}, {"type":"x_unknown","y":1}]}],
  "temperature" : 1.0 ,"top_p":1e0,"frequency_penalty":0.10,"presence_penalty":-0,"max_tokens":1E2,
	"seed":12345678901234567890,"logit_bias":{"50256":-100,"7":1.50,"3":5E-1},
  "0":"integer-like","__proto__":{"x":1},"constructor":false,
  "tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","$defs":{"node":{"type":"object",
	"properties":{"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]},"v":{"type":"number","multipleOf":0.10}}}},
	"properties":{"a":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"enum":[1.0,"\u0000",null,
	{}]}}}}},"additionalProperties":false},"strict":true}},{"type":"x_hosted","z":[]}]`

describe("a request", () => {
  test("a request with odd members, spellings and white space keeps every byte but the model's name", async () => {
    const body = (model: string) => `\r\n {${ODD_MEMBERS} , "model"\t: ${model}\n}\n\t`
    expect(await relayed(body('"test/model"'))).toBe(body('"upstream-model"'))
  })

  test("the provider object and one comma are cut from a relayed request, at any position", async () => {
    const model = '"model": "upstream-model"'
    const wish = String.raw`"pr\u006fvider" : {"routing":"cost" , "fallback":[ ]}`
    const named = '"model": "test/model"'
    expect(await relayed(`{ ${wish} , ${named} , ${ODD_MEMBERS} }`)).toBe(`{ ${model} , ${ODD_MEMBERS} }`)
    expect(await relayed(`{ ${named} , ${wish} , ${ODD_MEMBERS} }`)).toBe(`{ ${model} , ${ODD_MEMBERS} }`)
    expect(await relayed(`{ ${named} , ${ODD_MEMBERS} , ${wish} }`)).toBe(`{ ${model} , ${ODD_MEMBERS} }`)
    expect(await relayed(`{${named},${ODD_MEMBERS},"provider":null}`)).toBe(`{${model},${ODD_MEMBERS}}`)
  })

  test("an owned member spelled with escapes is changed in place", async () => {
    const body = (model: string) => String.raw`{"mod\u0065l":${model},${ODD_MEMBERS}}`
    expect(await relayed(body(String.raw`"\u0074est\/model"`))).toBe(body('"upstream-model"'))
  })

  test("a nested member with an owned name stays unchanged", async () => {
    const nested = '"metadata":{"model":"test/model","provider":{"x":1},"stream_options":{}}'
    const body = (model: string) => `{${nested},"model":"${model}","messages":[{"role":"user","content":"model"}]}`
    expect(await relayed(body("test/model"))).toBe(body("upstream-model"))
  })

  test("a request too large for the event loop keeps every byte, announced or chunked", async () => {
    const padding = `"padding":${JSON.stringify("Zoë 🦊 \\u0041".repeat(70_000))}`
    const body = (model: string) => `{${ODD_MEMBERS}, ${padding}, "model":"${model}" }`
    const bytes = new TextEncoder().encode(body("test/model"))
    expect(bytes.length).toBeGreaterThan(1024 * 1024)
    expect((await relayed(bytes)) === body("upstream-model")).toBe(true)
    const answer = await sendRaw(gateway.url, chunkedRequest(bytes, 65_537))
    expect(answer.status).toBe(200)
    expect(upstream.lastRequest().body.toString() === body("upstream-model")).toBe(true)
  })

  test("a request that is not valid UTF-8 is rejected", async () => {
    const bytes = Buffer.from(`{"model":"test/model","messages":[{"role":"user","content":"\xff"}]}`, "latin1")
    const response = await gateway.chat(bytes)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: "invalid_json" } })
  })

  test("a request with a duplicate member is rejected in any spelling", async () => {
    const twice = String.raw`{"model":"test/model","mod\u0065l":"other/model",${ODD_MEMBERS}}`
    const response = await gateway.chat(twice)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: "invalid_json" } })
    expect(upstream.requests).toHaveLength(0)
  })

  test("a request with any members in any spelling keeps every byte but the model's name", async () => {
    await fc.assert(
      fc.asyncProperty(jsonObject({ reserved: RESERVED, minMembers: 2 }), async (object) => {
        const [place, ...others] = object.members
        const text = (model: string) => {
          const owned = { ...place, value: model } as MemberText
          const messages = '"messages":[{"role":"user","content":"hi"}]'
          const inner = objectText({ ...object, members: [{ ...owned, name: '"model"' }, ...others] })
          return inner.replace("{", `{${messages},`)
        }
        expect(await relayed(text('"test/model"'))).toBe(text('"upstream-model"'))
      }),
      { numRuns: 200 },
    )
  })
})

/** Members that the gateway checks or owns; random values would be refused. */
const RESERVED = [
  ..."model messages provider stream stream_options temperature top_p frequency_penalty presence_penalty".split(" "),
  ..."max_tokens max_completion_tokens n stop tools tool_choice response_format".split(" "),
  ..."api_base api_key base_url custom_host".split(" "),
]

function chunkedRequest(body: Uint8Array, pieceLength: number): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += pieceLength) {
    const piece = body.subarray(at, at + pieceLength)
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), Buffer.from(piece), Buffer.from("\r\n"))
  }
  const head = requestHead("POST /v1/chat/completions", [
    ["host", "gateway"],
    ["authorization", `Bearer ${gateway.key}`],
    ["content-type", "application/json"],
    ["transfer-encoding", "chunked"],
    ["connection", "close"],
  ])
  return Buffer.concat([Buffer.from(head), ...pieces, Buffer.from("0\r\n\r\n")])
}

describe("a streamed request", () => {
  const streamed = (options: string) => `{"model":"upstream-model",${ODD_MEMBERS}, "stream" : true${options}}`
  const asking = (options: string) => streamed(options).replace("upstream-model", "test/model")

  beforeEach(() => {
    upstream.script = async (_, reply) => {
      reply.stream()
      await reply.write(`data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n${DONE}`)
      reply.end()
    }
  })

  const cases: readonly [string, string, string][] = [
    ["no options", "", ',"stream_options":{"include_usage":true}'],
    ["empty options", ', "stream_options" : { }', ', "stream_options" : {"include_usage":true }'],
    ["null options", ',"stream_options": null ', ',"stream_options": {"include_usage":true} '],
    [
      "other options",
      ',"stream_options":{ "include_obfuscation":false , "x":1.0 }',
      ',"stream_options":{ "include_obfuscation":false , "x":1.0,"include_usage":true }',
    ],
    [
      "usage refused",
      ',"stream_options":{ "include_usage" : false , "x":1.0}',
      ',"stream_options":{ "include_usage" : true , "x":1.0}',
    ],
    [
      "usage null, in an odd spelling",
      String.raw`,"stream_opt\u0069ons":{"include\u005fusage":null}`,
      String.raw`,"stream_opt\u0069ons":{"include\u005fusage":true}`,
    ],
    ["usage requested", ',"stream_options":{"include_usage":true }', ',"stream_options":{"include_usage":true }'],
  ]
  test.each(cases)(
    "a streamed request with %s requests usage upstream and keeps every other byte",
    async (_, given, expected) => {
      expect(await relayed(asking(given))).toBe(streamed(expected))
    },
  )
})

/** If a host reports no usage, the gateway shows its own count; test/money covers that. */
const USED = '"usage":{"prompt_tokens":1,"completion_tokens":2}'
const COUNTED = /data: \{"id":"[^"]*","object":"chat\.completion\.chunk",[^\n]*"choices":\[\],"usage":[^\n]*\n\n/

describe("a unary answer", () => {
  async function answered(bytes: Uint8Array): Promise<Buffer> {
    upstream.script = (_, reply) => reply.raw(bytes)
    const response = await gateway.chat({ model: "test/model", messages: [{ role: "user", content: "hi" }] })
    expect(response.status).toBe(200)
    return Buffer.from(await response.arrayBuffer())
  }

  test("an answer with odd members, spellings and white space keeps every byte but the model's name", async () => {
    const answer = (model: string) =>
      Buffer.from(
        `\n{${ODD_MEMBERS},\n"usage": {"prompt_tokens": 1 ,"completion_tokens":2 } , "model":\t${model} ,"choices":[{"index":0 }]} \r\n`,
      )
    expect(await answered(answer('"upstream-model-2026-01-01"'))).toEqual(answer('"test/model"'))
    expect(await answered(answer("null"))).toEqual(answer('"test/model"'))
  })

  test("a unary answer that is not valid UTF-8 arrives with U+FFFD in place of malformed bytes only", async () => {
    const answer = (model: string) =>
      Buffer.from(
        `{"choices":[{"message":{"content":"\xc3\xa9\xff\xfe\xc3( \xed\xa0\x80 \x80"}}],${USED},"model":"${model}"}`,
        "latin1",
      )
    const repaired = Buffer.from(answer("test/model").toString("utf8"))
    expect(await answered(answer("upstream-model"))).toEqual(repaired)
  })

  test("a unary answer without a model gets the name of the model that answered", async () => {
    const body = (model: string) => Buffer.from(`{ ${USED}, "choices" : [ ]${model} }`)
    expect(await answered(body(""))).toEqual(body(',"model":"test/model"'))
  })
})

describe("a stream", () => {
  /** The client's bytes if the upstream sends each of these pieces separately. */
  async function streamed(pieces: readonly Uint8Array[], usageRequested: boolean): Promise<string> {
    upstream.script = async (_, reply) => {
      reply.stream()
      for (const piece of pieces) {
        await reply.write(piece)
        await Bun.sleep(1)
      }
      reply.end()
    }
    const options = usageRequested ? { stream_options: { include_usage: true } } : {}
    const messages = [{ role: "user", content: "hi" }]
    const response = await gateway.chat({ model: "test/model", messages, stream: true, ...options })
    expect(response.status).toBe(200)
    return Buffer.from(await response.arrayBuffer())
      .toString("latin1")
      .replace(COUNTED, "")
  }

  for (const { name, sent, shown, hidden = shown } of STREAMS) {
    test(`${name} passes unchanged at any cut by the network`, async () => {
      const bytes = Buffer.from(sent, "latin1")
      expect(await streamed([bytes], true)).toBe(shown)
      expect(await streamed([bytes], false)).toBe(hidden)
      // Every byte is tried in relay-cuts.test.ts; here a sample goes through a real socket.
      for (let cut = 1; cut < bytes.length; cut += Math.ceil(bytes.length / 20)) {
        expect(await streamed([bytes.subarray(0, cut), bytes.subarray(cut)], false)).toBe(hidden)
      }
    })
  }

  const textEvent = (content: string) =>
    `data: {"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"${content}"}}]}\n\n`
  const named = (content: string) => textEvent(content).replace('"m"', '"test/model"')
  const LAST = `data: {"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n${DONE}`

  test("a character cut in two by the network arrives byte by byte", async () => {
    const words = ["one ", "🦊 ", "名 ", "🦊 ", "two"]
    const bytes = Buffer.from(words.map(textEvent).join("") + LAST)
    const shown = words.map(named).join("") + LAST.replace('"m"', '"test/model"')
    const foxes = [...words.map(textEvent).join("").matchAll(/🦊|名/gu)].map(({ index }) => index)
    for (const at of foxes) {
      const start = Buffer.byteLength(words.map(textEvent).join("").slice(0, at))
      for (const cut of [start + 1, start + 2]) {
        const got = await streamed([bytes.subarray(0, cut), bytes.subarray(cut)], true)
        expect(got).toBe(Buffer.from(shown).toString("latin1"))
      }
    }
  })

  test("malformed bytes between and inside events never reach the client as invalid UTF-8", async () => {
    const garbage = Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x0a, 0x0a])
    const inside = Buffer.from(textEvent("a\xff\xc3b"), "latin1")
    const pieces = [Buffer.from(textEvent("one")), Buffer.from(textEvent("two")), garbage, inside, Buffer.from(LAST)]
    for (const sent of [pieces, [Buffer.concat(pieces)]]) {
      const got = Buffer.from(await streamed(sent, true), "latin1")
      expect(isUtf8(got)).toBe(true)
      const text = got.toString()
      for (const word of [named("one"), named("two"), named("a\ufffd\ufffdb"), "[DONE]"]) expect(text).toContain(word)
    }
  })

  test("a stream that stops within a character ends in an error that is valid UTF-8", async () => {
    const cut = Buffer.from(textEvent("one") + textEvent("🦊"))
    const got = Buffer.from(await streamed([cut.subarray(0, cut.indexOf("🦊") + 2)], true), "latin1")
    expect(isUtf8(got)).toBe(true)
    expect(got.toString()).toContain('"error"')
  })
})
