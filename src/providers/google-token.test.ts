import { describe, expect, test } from "bun:test"
import { generateKeyPairSync } from "node:crypto"
import { Secret } from "../config/secret.ts"
import type { Send } from "../transport/http-client.ts"
import { GoogleTokens, TokenRefusedError } from "./google-token.ts"

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
})
const account = {
  clientEmail: "gateway@project.iam.gserviceaccount.com",
  privateKey: new Secret(privateKey),
  tokenUri: "https://token.example/token",
}

/** Tokens from an exchange that is told what to answer, and a clock that is told the time. */
function staged(answer: () => Response | Promise<Response>) {
  const state = { exchanges: 0, now: Date.parse("2026-01-01T00:00:00Z") }
  const send: Send = async () => {
    state.exchanges++
    return answer()
  }
  return { state, tokens: new GoogleTokens(account, { send, now: () => state.now }) }
}

function counting(expiresIn = 3600) {
  let count = 0
  return () => Response.json({ access_token: `token-${++count}`, expires_in: expiresIn, token_type: "Bearer" })
}

describe("a token", () => {
  test("is exchanged for once, however many wait for it, and kept", async () => {
    const { state, tokens } = staged(counting())
    const all = await Promise.all(Array.from({ length: 50 }, () => tokens.token()))
    expect(new Set(all.map((token) => token.reveal()))).toEqual(new Set(["token-1"]))
    expect((await tokens.token()).reveal()).toBe("token-1")
    expect(state.exchanges).toBe(1)
  })

  test("is renewed shortly before its end without anybody waiting, and at its end with everybody", async () => {
    const { state, tokens } = staged(counting())
    await tokens.token()
    state.now += 3600_000 - 4 * 60_000
    expect((await tokens.token()).reveal()).toBe("token-1")
    await Bun.sleep(5)
    expect((await tokens.token()).reveal()).toBe("token-2")
    state.now += 3600_000
    expect((await tokens.token()).reveal()).toBe("token-3")
    expect(state.exchanges).toBe(3)
  })

  test("that is still valid serves while its renewal fails", async () => {
    const good = counting()
    let broken = false
    const { state, tokens } = staged(() => (broken ? new Response("no", { status: 500 }) : good()))
    await tokens.token()
    broken = true
    state.now += 3600_000 - 60_000
    expect((await tokens.token()).reveal()).toBe("token-1")
    await Bun.sleep(5)
    expect((await tokens.token()).reveal()).toBe("token-1")
  })

  test("that was refused is exchanged for anew, unless another has taken its place", async () => {
    const { state, tokens } = staged(counting())
    const first = await tokens.token()
    tokens.forget(first)
    expect((await tokens.token()).reveal()).toBe("token-2")
    tokens.forget(first)
    expect((await tokens.token()).reveal()).toBe("token-2")
    expect(state.exchanges).toBe(2)
  })

  test("that was not given is asked for again after a moment, not for every call at once", async () => {
    const good = counting()
    let broken = true
    const refusal = { error: "invalid_grant", error_description: "Account not found: gateway@project" }
    const { state, tokens } = staged(() => (broken ? Response.json(refusal, { status: 400 }) : good()))
    const failed = await Promise.allSettled([tokens.token(), tokens.token()])
    expect(failed.map((each) => each.status)).toEqual(["rejected", "rejected"])
    expect(tokens.token()).rejects.toEqual(new TokenRefusedError(400, "invalid_grant"))
    expect(state.exchanges).toBe(1)
    broken = false
    await Bun.sleep(1100)
    expect((await tokens.token()).reveal()).toBe("token-1")
  })

  test.each([
    ["no JSON", () => new Response("<html>")],
    ["no token", () => Response.json({ expires_in: 3600 })],
    ["a token that fits no header", () => Response.json({ access_token: "two\nlines" })],
  ])("is none where the answer holds %s", async (_, answer) => {
    const { tokens } = staged(answer)
    expect(tokens.token()).rejects.toBeInstanceOf(TokenRefusedError)
  })
})
