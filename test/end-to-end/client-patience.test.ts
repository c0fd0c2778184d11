// Upstreams that pause, for a while or for too long, read by every official client: heart-beats that the client
// ignores, then the whole answer or the client's own error. The gateway runs in this process, with short limits.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { anthropicWords } from "../stage/anthropic-wire.ts"
import { vendorsConfig } from "../stage/gateway.ts"
import { geminiHalf, geminiWords } from "../stage/gemini-wire.ts"
import { InProcessGateway } from "../stage/in-process.ts"
import { responseWords } from "../stage/responses-wire.ts"
import { ScriptedUpstream, streamedWords } from "../stage/upstream.ts"
import { ANTHROPIC_VERSIONS, hello } from "./anthropic-versions.ts"
import { HI, VERSIONS } from "./client-versions.ts"
import { GENAI_VERSIONS } from "./genai-versions.ts"

const BEAT_MS = 50
const SILENCE_MS = BEAT_MS * 6
const LIMIT_MS = BEAT_MS * 5

/** One client of one protocol. */
interface StreamingClient {
  readonly name: string
  /** The events of an answer of two words, cut after the second. */
  readonly events: readonly [half: readonly string[], rest: readonly string[]]
  readonly protocol: keyof typeof WIRES
  /** Reads a stream to its end, telling each piece of its text. */
  read(gateway: InProcessGateway, onText: (text: string) => void): Promise<void>
  /** The class it raises on an error inside a stream. */
  readonly raises: new (
    ...given: never[]
  ) => Error
}

const HEADERS = { "content-type": "application/json", "anthropic-version": "2023-06-01" }
const CONTENTS = { contents: [{ parts: [{ text: "hi" }] }] }

/** A protocol's stream request without a client, and its heart-beat. */
const WIRES = {
  chat: { path: "/v1/chat/completions", body: { ...HI, stream: true }, beat: ": ping\n\n" },
  responses: { path: "/v1/responses", body: { model: "test/model", input: "hi", stream: true }, beat: ": ping\n\n" },
  messages: {
    path: "/anthropic/v1/messages",
    body: { ...hello("test/model"), stream: true },
    beat: 'event: ping\ndata: {"type": "ping"}\n\n',
  },
  generate: { path: "/gemini/v1beta/models/test/model:streamGenerateContent?alt=sse", body: CONTENTS, beat: "\n" },
} as const

function cut(events: readonly string[], restLength: number): StreamingClient["events"] {
  return [events.slice(0, -restLength), events.slice(-restLength)]
}

const chats = VERSIONS.map((version): StreamingClient => {
  return {
    name: `${version.name}, chat`,
    events: cut(streamedWords("The quick"), 2),
    protocol: "chat",
    async read({ url, key }, onText) {
      const client = new version.OpenAI({ apiKey: key, baseURL: `${url}/v1` })
      const stream = await client.chat.completions.create({ ...HI, stream: true })
      for await (const { choices } of stream) onText(choices[0]?.delta.content ?? "")
    },
    raises: version.OpenAI.APIError,
  }
})

const responses = VERSIONS.map((version): StreamingClient => {
  return {
    name: `${version.name}, responses`,
    events: cut(responseWords("The quick"), 4),
    protocol: "responses",
    async read({ url, key }, onText) {
      const client = new version.OpenAI({ apiKey: key, baseURL: `${url}/v1` })
      const stream = client.responses.stream({ model: "test/model", input: "hi" } as never)
      stream.on("response.output_text.delta", ({ delta }) => onText(delta))
      await stream.finalResponse()
    },
    raises: version.OpenAI.APIError,
  }
})

const messages = ANTHROPIC_VERSIONS.map((version): StreamingClient => {
  return {
    name: version.name,
    events: cut(anthropicWords("The quick"), 3),
    protocol: "messages",
    async read({ url, key }, onText) {
      const client = new version.Anthropic({ apiKey: key, baseURL: `${url}/anthropic` })
      await client.messages.stream(hello("test/model")).on("text", onText).finalMessage()
    },
    raises: version.Anthropic.APIError,
  }
})

const generates = GENAI_VERSIONS.map((version): StreamingClient => {
  return {
    name: version.name,
    events: [geminiHalf("The quick"), geminiWords("!").map((event) => event.replace('"!"', '""'))],
    protocol: "generate",
    async read({ url, key }, onText) {
      const client = new version.GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${url}/gemini` } })
      const stream = await client.models.generateContentStream({ model: "test/model", contents: "hi" })
      for await (const { text } of stream) onText(text ?? "")
    },
    raises: version.ApiError,
  }
})

let upstream: ScriptedUpstream
const running: InProcessGateway[] = []

beforeAll(async () => {
  upstream = await ScriptedUpstream.start()
})
afterEach(async () => {
  await Promise.all(running.splice(0).map((gateway) => gateway.stop()))
})
afterAll(() => upstream.stop())

function start(timeouts: Parameters<typeof InProcessGateway.start>[0]["timeouts"] = {}): InProcessGateway {
  const config = vendorsConfig(upstream.origin)
  const gateway = InProcessGateway.start({ config, timeouts: { heartbeatMs: BEAT_MS, ...timeouts } })
  running.push(gateway)
  return gateway
}

/** An upstream that falls silent before its stream, and again in the midst of it. */
function hesitates({ events: [half, rest] }: Pick<StreamingClient, "events">, { beforeMs = 0, amidstMs = 0 }): void {
  upstream.script = async (_, reply) => {
    await Bun.sleep(beforeMs)
    reply.stream()
    for (const event of half) await reply.write(event)
    await Bun.sleep(amidstMs)
    for (const event of rest) await reply.write(event)
    reply.end()
  }
}

for (const client of [...chats, ...responses, ...messages, ...generates]) {
  describe(client.name, () => {
    /** The text of a stream up to its end, and the error it ends in, if any. */
    const read = async (gateway: InProcessGateway): Promise<{ text: string; error?: unknown }> => {
      let text = ""
      const onText = (piece: string) => {
        text += piece
      }
      try {
        await client.read(gateway, onText)
        return { text }
      } catch (error) {
        return { text, error }
      }
    }

    test("a client waits for an upstream that starts slowly, and gets the whole answer", async () => {
      hesitates(client, { beforeMs: SILENCE_MS })
      expect(await read(start())).toEqual({ text: "The quick" })
    })

    test("a client waits for an upstream that pauses, and gets the whole answer", async () => {
      hesitates(client, { amidstMs: SILENCE_MS })
      expect(await read(start())).toEqual({ text: "The quick" })
    })

    test("a client raises its own error after a pause that is too long, with the text that arrived", async () => {
      hesitates(client, { amidstMs: LIMIT_MS * 10 })
      const { text, error } = await read(start({ gapMs: LIMIT_MS }))
      expect(error).toBeInstanceOf(client.raises)
      expect(error).toMatchObject({ message: expect.stringMatching(/in time|too long|silent/i) })
      expect(text).toBe("The quick")
    })

    test("a client raises its own error if no event arrives after the heart-beats", async () => {
      hesitates(client, { beforeMs: LIMIT_MS * 10 })
      const { text, error } = await read(start({ firstEventMs: LIMIT_MS }))
      expect(error).toBeInstanceOf(client.raises)
      expect(text).toBe("")
    })

    test("a client raises its own error if the upstream fails after heart-beats", async () => {
      upstream.script = async (_, reply) => {
        await Bun.sleep(SILENCE_MS)
        reply.json({ error: { message: "4711" } }, 500)
      }
      const { error } = await read(start())
      expect(error).toBeInstanceOf(client.raises)
      expect(error).toMatchObject({ message: expect.not.stringContaining("4711") })
    })
  })
}

describe("a silent stream", () => {
  const longMs = BEAT_MS * 20

  for (const client of [chats[0], responses[0], messages[0], generates[0]]) {
    if (!client) continue
    const { path, body, beat } = WIRES[client.protocol]
    const bytesOf = async ({ url, key }: InProcessGateway): Promise<string> => {
      const headers = { ...HEADERS, authorization: `Bearer ${key}` }
      return (await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) })).text()
    }

    test(`a silent stream of ${client.protocol} carries only ${JSON.stringify(beat)}`, async () => {
      hesitates(client, { beforeMs: longMs, amidstMs: longMs })
      const text = await bytesOf(start())
      hesitates(client, {})
      const plain = await bytesOf(start())
      expect(text).toStartWith(beat.repeat(2))
      expect(text.length).toBeGreaterThan(plain.length + 3 * beat.length)
      expect(withoutIds(withoutBeats(text, beat))).toBe(withoutIds(plain))
    })
  }

  test("a silent stream in array form carries blank lines and stays an array", async () => {
    hesitates({ events: [geminiHalf("The quick"), geminiWords("!")] }, { beforeMs: longMs, amidstMs: longMs })
    const { url, key } = start()
    const path = WIRES.generate.path.replace("?alt=sse", "")
    const headers = { ...HEADERS, "x-goog-api-key": key }
    const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(CONTENTS) })
    const text = await response.text()
    expect(text).toStartWith("\n\n")
    expect(JSON.parse(text)).toHaveLength(3)
  })
})

/** A bare line feed is no end of the upstream's lines, which end in two characters. */
/** The id of a response is the gateway's, and another each time. */
function withoutIds(text: string): string {
  return text.replaceAll(/"resp_[0-9a-f]{24}"/g, '"resp"')
}

function withoutBeats(text: string, beat: string): string {
  return beat === "\n" ? text.replace(/(?<!\r)\n/g, "") : text.replaceAll(beat, "")
}
