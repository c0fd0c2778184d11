// Law 5: every part of a request is encoded, reported as a loss, or the request is rejected.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { ChatRequest, ChatSettings } from "../../src/canonical/chat/chat-request.ts"
import type { ContentPart } from "../../src/canonical/chat/content-part.ts"
import { GatewayError } from "../../src/canonical/gateway-error.ts"
import type { Loss } from "../../src/canonical/loss.ts"
import type { UpstreamCodec } from "../../src/protocols/chat-codec.ts"
import { codecs } from "../../src/protocols.ts"
import { conversations, settings } from "./conversations.ts"

interface EncodedText {
  readonly text: string
  readonly losses: readonly Loss[]
}

function encodeText(
  request: ChatRequest,
  { upstream, minter = "nobody" }: { upstream: UpstreamCodec; minter?: string },
): EncodedText | undefined {
  const losses: Loss[] = []
  const context = {
    model: "up-1",
    stream: false,
    streamUsage: "sent",
    minter,
    maxOutputTokens: 4096,
    reasons: true,
    losses,
  } as const
  try {
    return { text: JSON.stringify(upstream.encodeRequest(request, context)), losses }
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.owner === "caller") return undefined
    throw thrown
  }
}

/** The texts of a part that must not be lost, and its path. */
function piecesOf(part: ContentPart): { content: string; at: string }[] {
  const at = part.at ?? ""
  if (part.kind === "text" || part.kind === "reasoning") return [{ content: part.text, at }]
  if (part.kind === "tool-call")
    return [
      { content: part.arguments, at },
      { content: part.name, at },
    ]
  if (part.kind === "tool-result") return part.parts.flatMap(piecesOf)
  if (part.kind === "media" && part.source.at === "inline") return [{ content: part.source.base64, at }]
  return []
}

/** Whether the text contains the content: inside JSON, twice inside JSON, or as an object. */
function contains(content: string, text: string): boolean {
  const inner = JSON.stringify(content).slice(1, -1)
  if (text.includes(inner) || text.includes(JSON.stringify(inner).slice(1, -1))) return true
  return content.startsWith("{") && text.includes(JSON.stringify(JSON.parse(content)))
}

const covers = (losses: readonly Loss[], at: string) =>
  losses.some(({ path }) => path !== "" && (at.startsWith(path) || path.startsWith(at)))

describe.each([...codecs.upstream])("a request encoded in %s", (_, upstream) => {
  test("every piece of a conversation is encoded or reported as a loss", () => {
    fc.assert(
      fc.property(conversations(), (request) => {
        const encoded = encodeText(request, { upstream })
        if (!encoded) return
        const parts = [...request.instructions, ...request.turns.flatMap((turn) => turn.parts)]
        for (const { content: piece, at } of parts.flatMap(piecesOf)) {
          const isKept = contains(piece, encoded.text) || covers(encoded.losses, at)
          expect(isKept ? "kept" : `${at}: ${piece} is nowhere`).toBe("kept")
        }
        for (const tool of request.tools) {
          const isKept = encoded.text.includes(tool.name) || covers(encoded.losses, tool.at ?? "")
          expect(isKept ? "kept" : `${tool.at} is nowhere`).toBe("kept")
        }
      }),
    )
  })

  test("every tool result keeps its call", () => {
    fc.assert(
      fc.property(conversations(), (request) => {
        const encoded = encodeText(request, { upstream })
        if (!encoded) return
        const calls = request.turns.flatMap(({ parts }) =>
          parts.flatMap((part) => (part.kind === "tool-call" ? part.id : [])),
        )
        for (const id of calls) expect(encoded.text.split(`"${id}"`).length - 1).toBeGreaterThanOrEqual(2)
      }),
    )
  })

  test("each cache mark is encoded or reported as a loss", () => {
    fc.assert(
      fc.property(conversations(), (request) => {
        const encoded = encodeText(request, { upstream })
        if (!encoded) return
        const places = [...request.instructions, ...request.turns.flatMap((turn) => turn.parts)].flatMap(markedPlaces)
        for (const at of places) {
          const without = encodeText(withoutMark(request, at), { upstream })
          if (!without) continue
          const isKept = encoded.text !== without.text || encoded.losses.length > without.losses.length
          expect(isKept ? "kept" : `the mark of ${at} is nowhere`).toBe("kept")
        }
      }),
    )
  })

  test("every setting is encoded, reported as a loss, or rejected", () => {
    // Those that are refused are tried below.
    const isTaken = (name: string) => upstream.fates[name as keyof ChatSettings].fate !== "refused"
    const idle = (name: keyof ChatSettings, value: unknown) =>
      (name === "parallelToolCalls" && value === true) ||
      (name === "reasoning" && Object.keys(value as object).length === 0) ||
      (name === "temperature" && value === 1)
    fc.assert(
      fc.property(conversations(), settings, (request, wished) => {
        const chosen = Object.fromEntries(Object.entries(wished).filter(([name]) => isTaken(name))) as ChatSettings
        const all = encodeText({ ...request, settings: chosen }, { upstream })
        if (!all) return
        for (const name of Object.keys(chosen) as (keyof ChatSettings)[]) {
          if (idle(name, chosen[name])) continue
          if (name === "parallelToolCalls" && request.toolChoice?.mode === "none") continue
          const { [name]: _left, ...others } = chosen
          const without = encodeText({ ...request, settings: others }, { upstream })
          if (!without) continue
          const isKept = all.text !== without.text || JSON.stringify(all.losses) !== JSON.stringify(without.losses)
          expect(isKept ? "kept" : `${name} is nowhere`).toBe("kept")
        }
      }),
    )
  })

  test("each setting has its declared fate: a mapped one is in the body, a dropped one is reported", () => {
    for (const [name, { fate }] of Object.entries(upstream.fates)) {
      const value = ONE_OF_EACH[name as keyof ChatSettings]
      const request = { ...PLAIN, settings: { [name]: value } }
      const encoded = encodeText(request, { upstream })
      const plain = encodeText(PLAIN, { upstream })
      const seen = !encoded
        ? "refused"
        : encoded.text !== plain?.text
          ? "encoded"
          : encoded.losses.length > 0
            ? "dropped"
            : "nothing"
      const allowed = {
        mapped: ["encoded"],
        approximated: ["encoded", "dropped"],
        dropped: ["dropped"],
        refused: ["refused"],
      }[fate]
      expect(allowed.includes(seen) ? "kept" : `${name} is ${fate}, seen ${seen}`).toBe("kept")
    }
  })
})

function markedPlaces(part: ContentPart): string[] {
  const inner = part.kind === "tool-result" ? part.parts.flatMap(markedPlaces) : []
  return part.cacheMark ? [part.at ?? "", ...inner] : inner
}

function withoutMark(request: ChatRequest, at: string): ChatRequest {
  const unmarked = (part: ContentPart): ContentPart => {
    const { cacheMark, ...bare } = part
    const rest = part.at === at || !cacheMark ? bare : { ...bare, cacheMark }
    return rest.kind === "tool-result" ? { ...rest, parts: rest.parts.map(unmarked) } : rest
  }
  return {
    ...request,
    instructions: request.instructions.map(unmarked),
    turns: request.turns.map((turn) => ({ ...turn, parts: turn.parts.map(unmarked) })),
  }
}

const PLAIN: ChatRequest = {
  ...{ model: "a/b", instructions: [], stream: false, routing: { fallback: [] }, settings: {} },
  turns: [{ role: "user", parts: [{ kind: "text", text: "Hi" }] }],
  tools: [{ kind: "function", name: "look_up", parameters: { type: "object", properties: {} } }],
}

const ONE_OF_EACH: Required<ChatSettings> = {
  maxOutputTokens: 100,
  temperature: 0.3,
  topP: 0.4,
  topK: 5,
  frequencyPenalty: 0.6,
  presencePenalty: 0.7,
  stop: ["END"],
  seed: 8,
  candidates: 2,
  logprobs: 3,
  format: { kind: "schema", name: "answer", schema: { type: "object", properties: {}, additionalProperties: false } },
  reasoning: { effort: "high" },
  parallelToolCalls: false,
  verbosity: "low",
  modalities: ["text", "image"],
  cacheKey: "key",
  endUser: "user",
}
