import { describe, expect, test } from "bun:test"
import { outlineJson } from "../transport/json/json-scan.ts"
import { sessionKeyOf } from "./session-key.ts"

const LONG = "word ".repeat(1000)

function session(body: object, whose = { keyId: "k", model: "m" }): string | undefined {
  const text = JSON.stringify(body)
  const outlined = outlineJson(text)
  if (!outlined) throw new Error("not an object")
  return sessionKeyOf({ text, outline: outlined }, whose)
}

const user = (content: string) => ({ role: "user", content })
const system = { role: "system", content: `${LONG} "{[\\` }
const answered = [{ role: "assistant", content: "Hello." }, user("And then?")]

describe("the session key", () => {
  test("the session key is the same from turn to turn, whatever follows the first message", () => {
    const first = session({ messages: [system, user("one")] })
    expect(first).toBeString()
    expect(session({ temperature: 1, messages: [system, user("one"), ...answered], stream: true })).toBe(
      first as string,
    )
    expect(session({ messages: [{ ...system, role: "developer" }, user("one")] })).toBe(first as string)
  })

  test("the session key differs for another first message, another API key or another model", () => {
    const body = { messages: [system, user("one")] }
    const all = [
      session(body),
      session({ messages: [system, user("two")] }),
      session(body, { keyId: "l", model: "m" }),
      session(body, { keyId: "k", model: "n" }),
    ]
    expect(new Set(all).size).toBe(4)
  })

  test.each([
    { contents: [{ role: "user", parts: [{ text: LONG }] }] },
    { input: LONG },
    { input: [{ role: "user", content: [{ type: "input_text", text: LONG }] }] },
    { system: LONG, messages: [user("Hi")] },
  ])("the session key exists in every protocol", (body) => {
    expect(session(body)).toBeString()
    expect(session(body)).toBe(session(body) as string)
  })

  test("a conversation too short for a prompt cache has no session key, unless the caller names it", () => {
    expect(session({ messages: [user("Hi")] })).toBeUndefined()
    expect(session({ prompt_cache_key: "s", messages: [user("Hi")] })).toBe(
      session({ prompt_cache_key: "s", messages: [user("Ho")] }) as string,
    )
    expect(session({ metadata: { user_id: "u1" }, messages: [user("Hi")] })).toBe(
      session({ messages: [user("Ho")], metadata: { trace: 7, user_id: "u1" } }) as string,
    )
    expect(session({ metadata: { user_id: "u1" } })).not.toBe(session({ metadata: { user_id: "u2" } }) as string)
  })

  test("the session key is computed for any first message without an error", () => {
    for (const messages of [[], [system], [[[]]], "", LONG, 7, [LONG, LONG], null]) {
      expect(() => session({ messages, pad: LONG })).not.toThrow()
    }
  })
})
