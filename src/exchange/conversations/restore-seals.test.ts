import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { ChatRequest, ConversationTurn } from "../../canonical/chat/chat-request.ts"
import type { ContentPart, ReasoningPart } from "../../canonical/chat/content-part.ts"
import { AnswerSeals } from "./answer-seals.ts"
import { answerKeys, hashQuestion } from "./answer-text.ts"
import { restoreSeals, restoreTrailingSeals } from "./restore-seals.ts"
import { SealCache } from "./seal-cache.ts"

const thought = (data: string): ReasoningPart => ({
  kind: "reasoning",
  form: "full",
  text: "hm",
  sealed: { mintedBy: "m", data },
})
const call = (id: string): ContentPart => ({ kind: "tool-call", id, name: "f", arguments: "{}", runsAt: "client" })

describe("a returning conversation with tool calls", () => {
  const request = (parts: readonly ContentPart[]): ChatRequest => ({
    ...{ model: "a/b", instructions: [], tools: [], settings: {}, stream: false, routing: { fallback: [] } },
    turns: [{ role: "assistant", parts }],
  })
  const restored = (parts: readonly ContentPart[], kept: Record<string, ContentPart[]>) => {
    const map = new Map(
      Object.entries(kept).map(([id, before]) => [
        id,
        { before: before as ReasoningPart[], sealed: { mintedBy: "m", data: id } },
      ]),
    )
    return restoreSeals(request(parts), map).turns[0]?.parts
  }
  const sealed = (id: string) => ({ ...call(id), sealed: { mintedBy: "m", data: id } })
  const text: ContentPart = { kind: "text", text: "I look it up" }

  test("a restored thought precedes the text, and the call gets its seal back", () => {
    expect(restored([text, call("1")], { 1: [thought("x")] })).toEqual([thought("x"), text, sealed("1")])
  })

  test("a restored thought between calls directly precedes its call", () => {
    const parts = [call("1"), call("2")]
    expect(restored(parts, { 1: [], 2: [thought("y")] })).toEqual([sealed("1"), thought("y"), sealed("2")])
  })

  test("a thought that the client returns without its seal is not duplicated", () => {
    const bare: ContentPart = { kind: "reasoning", form: "full", text: "hm" }
    expect(restored([bare, text, call("1")], { 1: [thought("x")] })).toEqual([thought("x"), text, sealed("1")])
    expect(restored([bare, call("1")], {})).toEqual([bare, call("1")])
  })

  test("a thought that the client returns with its seal is not duplicated", () => {
    expect(restored([thought("x"), text, call("1")], { 1: [thought("x")] })).toEqual([thought("x"), text, sealed("1")])
  })
})

describe("a returning conversation with seals after its texts", () => {
  const hidden = (data: string, mintedBy = "m"): ReasoningPart => ({
    kind: "reasoning",
    form: "hidden",
    text: "",
    sealed: { mintedBy, data },
  })
  const textPart = (text: string): ContentPart => ({ kind: "text", text })
  const user = (text: string): ConversationTurn => ({ role: "user", parts: [textPart(text)] })
  const assistant = (...parts: ContentPart[]): ConversationTurn => ({ role: "assistant", parts })
  const request = (turns: ConversationTurn[]): ChatRequest => ({
    ...{ model: "a/b", instructions: [], tools: [], settings: {}, stream: false, routing: { fallback: [] } },
    turns,
  })

  /** The store after the model has answered these turns with these parts. */
  function answered(turns: ConversationTurn[], parts: readonly ContentPart[], seals = new SealCache()): SealCache {
    const question = hashQuestion(turns)
    const behind = new AnswerSeals(({ text, seals: found }) =>
      seals.keepTrailing("t", answerKeys(text, question), found),
    )
    for (const part of parts) behind.take(part)
    behind.finish({ reason: "stop" })
    return seals
  }
  const restored = (turns: ConversationTurn[], seals: SealCache, minter = "m") =>
    restoreTrailingSeals(request(turns), seals.lookup("t").texts, minter).turns

  const LONG = "An answer that is long enough to tell one conversation from another."

  test("each seal returns to the place after its text, however the client changed white space", () => {
    const words = fc.array(fc.stringMatching(/^[a-z.]{1,9}$/), { minLength: 1, maxLength: 12 })
    const spaces = fc.constantFrom(" ", "  ", "\n", " \n\t")
    fc.assert(
      fc.property(words, spaces, spaces, (all, one, other) => {
        const seals = answered([user("q")], [textPart(all.join(one) + one), hidden("x")])
        const back = textPart(all.join(other))
        expect(restored([user(" q "), assistant(back), user("more")], seals)[1]?.parts).toEqual([back, hidden("x")])
      }),
    )
  })

  test("no seal returns after another text, or after a short text that answers another question", () => {
    const seals = answered([user("q")], [textPart("Yes."), hidden("x")])
    for (const turns of [
      [user("q"), assistant(textPart("No."))],
      [user("p"), assistant(textPart("Yes."))],
    ]) {
      expect(restored(turns, seals)).toEqual(turns)
    }
  })

  test("a seal returns after a long text even if the client changed the question", () => {
    const seals = answered([user("q")], [textPart(LONG), hidden("x")])
    expect(restored([user("q, edited"), assistant(textPart(LONG))], seals)[1]?.parts).toEqual([
      textPart(LONG),
      hidden("x"),
    ])
  })

  test("a seal that the client returned itself is not duplicated", () => {
    const seals = answered([user("q")], [textPart(LONG), hidden("x")])
    const turns = [user("q"), assistant(textPart(LONG), hidden("x"))]
    expect(restored(turns, seals)).toEqual(turns)
  })

  test("several seals all return, whether the client keeps the texts separate or joins them", () => {
    const parts = [textPart(LONG), hidden("x"), textPart("And more."), hidden("y")]
    const seals = answered([user("q")], parts)
    const whole = assistant(textPart(`${LONG}And more.`))
    expect(restored([user("q"), whole], seals)[1]?.parts).toEqual([...whole.parts, hidden("x"), hidden("y")])
    const apart = assistant(textPart(LONG), hidden("x"), textPart("And more."))
    expect(restored([user("q"), apart], seals)[1]?.parts).toEqual(parts)
  })

  test("only seals of the target's own minter return", () => {
    const seals = answered([user("q")], [textPart(LONG), hidden("x", "another")])
    const turns = [user("q"), assistant(textPart(LONG))]
    expect(restored(turns, seals)).toEqual(turns)
    expect(restored(turns, seals, "another")[1]?.parts).toHaveLength(2)
  })

  test("a seal before a call is stored with the call, and a seal before all text is not stored", () => {
    expect(answered([user("q")], [textPart(LONG), hidden("x"), call("1")]).lookup("t").texts.size).toBe(0)
    expect(answered([user("q")], [hidden("x"), textPart(LONG)]).lookup("t").texts.size).toBe(0)
  })
})
