// Clients and upstreams of the same protocol, byte for byte, over real sockets: only the members that the gateway owns
// change. Chat completions have a suite of their own.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
  gateway = await RunningGateway.start({ config: vendorsConfig(upstream.origin) })
})
afterAll(async () => {
  await gateway.stop()
  upstream.stop()
})

const ODD =
  String.raw`"mod\u0065lz":"x", "n\u0061me" :"\ud83d\ude00\/", "big":12345678901234567890,"e":1E+2 , "f":1.0, "": null,` +
  ` "tricky":"} ] , \\" \\\\","öld":"naïve 温度", "__proto__": {"a" : [ ]}`

interface RelaySample {
  readonly name: string
  readonly path: string
  readonly headers: Record<string, string>
  /** The request as it is sent and as it has to arrive. */
  readonly request: (stream: boolean) => { sent: string; arrives: string; at: string }
  readonly answer: (model: string) => string
  readonly stream: (model: string) => string
}

/** The gateway sets `store` in a response; here the upstream sends the same value. */
const KEPT = '"id":"resp_x","store" :true, "previous_response_id":null'
const IDS = /resp_[0-9a-f]{24}/g

const USED = '"usage": {"input_tokens":1 ,"output_tokens":2}'

const event = (type: string, data: string) => `event: ${type}\ndata: ${data}\n\n`

const SAMPLES: readonly RelaySample[] = [
  {
    name: "messages",
    path: "/msgapi/v1/messages?beta=true",
    headers: { "anthropic-version": "2023-06-01" },
    request(stream) {
      const text = (model: string, mine: string) =>
        ` {"model" : ${model}, "max_tokens":10,${mine} "messages":[{"role":"user","content":"hi"}],"stream":${stream},${ODD}}\n`
      return {
        sent: text('"test/model"', ' "provider": {"fallback":[ ]},'),
        arrives: text('"upstream-model"', ""),
        at: "/v1/messages",
      }
    },
    answer: (model) =>
      `{ "id":"m","type":"message","content":[{"type":"text","text":"\\u00e9ö"}],${ODD},${USED},"model": "${model}" }`,
    stream: (model) =>
      event(
        "message_start",
        `{"type":"message_start", "message": {${ODD},"model" :"${model}","usage":{"input_tokens":1}}}`,
      ) +
      event(
        "content_block_start",
        '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
      ) +
      event("ping", '{"type": "ping"}') +
      ["Go", "od ", '\\"day\\"', " naïve", "."]
        .map((word) =>
          event(
            "content_block_delta",
            `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${word}"}}`,
          ),
        )
        .join("") +
      event("content_block_stop", '{"type":"content_block_stop","index":0}') +
      event(
        "message_delta",
        `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3},${ODD}}`,
      ) +
      event("message_stop", '{"type":"message_stop"}'),
  },
  {
    name: "responses",
    path: "/v1/responses",
    headers: {},
    request(stream) {
      const text = (model: string, mine: string, store: string) =>
        `{"input":"hi" ,"model" : ${model},${mine}"stream":${stream},${ODD} ${store}}`
      return {
        sent: text('"test/model"', '"provider":null, ', ', "store" : true'),
        arrives: text('"upstream-model"', "", ', "store" : false'),
        at: "/v1/responses",
      }
    },
    answer: (model) =>
      `{${KEPT},"object":"response","model" : "${model}","output":[ ],"status":"completed",${USED},${ODD}}`,
    stream: (model) =>
      event(
        "response.created",
        `{"type":"response.created","sequence_number":0,"response":{"model":"${model}",${ODD},${KEPT}}}`,
      ) +
      ["Go", "od ", '\\"day\\"', " naïve", "."]
        .map((word, index) =>
          event(
            "response.output_text.delta",
            `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"${word}","sequence_number":${index + 1}}`,
          ),
        )
        .join("") +
      event(
        "response.completed",
        `{"type":"response.completed","response":{${ODD}, "model":"${model}",${KEPT},${USED},"output":[]},"sequence_number":9}`,
      ),
  },
  {
    name: "generateContent",
    path: "/genapi/v1beta/models/test/model:generateContent",
    headers: {},
    request(stream) {
      const text = (mine: string) => `{"contents":[{"parts":[{"text":"hi"}] }] ,${mine}${ODD}}`
      const method = stream ? "streamGenerateContent?alt=sse" : "generateContent"
      return {
        sent: text('"provider" : {"routing":"cost"} ,'),
        arrives: text(""),
        at: `/v1beta/models/upstream-model:${method}`,
      }
    },
    answer: (model) =>
      `{"candidates":[{"content":{"parts":[{"text":"ö"}]}} ],"usageMetadata":{"promptTokenCount":1 ,"candidatesTokenCount":2},${ODD}, "modelVersion":"${model}"}`,
    stream: (model) =>
      ["Go", "od ", '\\"day\\"', " naïve", "."]
        .map(
          (word, index) =>
            `data: {"candidates": [{"content":{"parts":[{"text":"${word}"}]}${index === 4 ? ',"finishReason":"STOP"' : ""}}],` +
            `"modelVersion" : "${model}","usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":${index},${ODD}}}\r\n\r\n`,
        )
        .join(""),
  },
]

function post({ path, headers }: RelaySample, body: string, streamed: boolean): Promise<Response> {
  const at = streamed ? path.replace(":generateContent", ":streamGenerateContent?alt=sse") : path
  return fetch(gateway.url + at, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", ...headers },
    body,
  })
}

const answers = (text: string): UpstreamScript => {
  return (_, reply) => reply.raw(Buffer.from(text))
}

const writes = (pieces: readonly Uint8Array[]): UpstreamScript => {
  return async (_, reply) => {
    reply.stream()
    for (const piece of pieces) await reply.write(piece)
    reply.end()
  }
}

for (const sample of SAMPLES) {
  describe(sample.name, () => {
    test("a request reaches the upstream with only the gateway's own members changed", async () => {
      const { sent, arrives, at } = sample.request(false)
      upstream.script = answers(sample.answer("upstream-model"))
      const response = await post(sample, sent, false)
      expect([response.status, (await response.text()).replaceAll(IDS, "resp_x")]).toEqual([
        200,
        sample.answer("test/model"),
      ])
      expect(upstream.lastRequest().body.toString("utf8")).toBe(arrives)
      expect(upstream.lastRequest().path).toBe(at)
    })

    test("a stream passes alike at any cut of its bytes", async () => {
      const { sent, arrives, at } = sample.request(true)
      const bytes = Buffer.from(sample.stream("upstream-2026"))
      const places = Array.from({ length: 24 }, (_, index) => 1 + Math.floor((index * (bytes.length - 1)) / 24))
      for (const place of places) {
        upstream.script = writes([bytes.subarray(0, place), bytes.subarray(place)])
        const response = await post(sample, sent, true)
        expect((await response.text()).replaceAll(IDS, "resp_x")).toBe(sample.stream("test/model"))
      }
      expect(upstream.lastRequest().body.toString("utf8")).toBe(arrives)
      expect(upstream.lastRequest().path).toBe(at)
    })

    test("a stream whose events arrive one by one passes with every byte", async () => {
      const frames = sample.stream("upstream-2026").split(/(?<=\n\r?\n)/)
      upstream.script = writes(frames.map((frame) => Buffer.from(frame)))
      const response = await post(sample, sample.request(true).sent, true)
      expect((await response.text()).replaceAll(IDS, "resp_x")).toBe(sample.stream("test/model"))
    })
  })
}
