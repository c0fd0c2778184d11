// Authentication: the header of each protocol, and the errors of invalid keys.
import { afterAll, beforeAll, expect } from "bun:test"
import { RunningGateway } from "../stage/gateway.ts"
import { KeyFolder } from "../stage/keys.ts"
import {
  type ClientStyle,
  chat,
  errorOf,
  generate,
  list,
  MODEL,
  messages,
  objectOf,
  STYLES,
  sendRequest,
} from "./client-styles.ts"
import { nothingForgotten, specify, specifyEach } from "./specify.ts"

const folder = new KeyFolder()
const keys = { whole: "", scoped: "", expired: "", revoked: "" }
let demo: RunningGateway
beforeAll(async () => {
  folder.within((store) => {
    keys.whole = store.create({ name: "whole" }).text
    keys.expired = store.create({ name: "expired", expiresAt: Date.now() - 1000 }).text
    const { key, text } = store.create({ name: "revoked" })
    keys.revoked = text
    store.revoke(key.id)
  })
  keys.scoped = (await folder.create("scoped", "--models", "openai/*")).key
  demo = await RunningGateway.start({ dataDir: folder.path, key: keys.whole })
})
afterAll(async () => {
  await demo.stop()
  folder.remove()
})

/** The answers to a call and to a listing with this key. */
async function answers(style: ClientStyle, key: string): Promise<[Response, Response]> {
  return [await sendRequest(demo, style, { key }), await list({ url: demo.url, key }, style)]
}

async function expectUnauthenticated(response: Response, code: string): Promise<void> {
  expect(response.status).toBe(401)
  expect(await errorOf(response)).toMatchObject({ code, type: "authentication_error" })
}

for (const style of STYLES) {
  const { name } = style

  specify(
    "authentication.every-request",
    `without a key neither calls nor listings are answered, ${name}`,
    async () => {
      const keyless = { ...style, keyHeader: () => ({}) }
      for (const response of await answers(keyless, "")) await expectUnauthenticated(response, "missing_api_key")
    },
  )

  specify("authentication.one-key", `the same key opens calls and listings, ${name}`, async () => {
    for (const response of await answers(style, keys.whole)) expect(response.status).toBe(200)
  })

  specifyEach("authentication.invalid", ["sk-abc", `trv_${"0".repeat(49)}`, "null"], {
    sentence: (key) => `${key} is 401, ${name}`,
    check: async (key) => {
      for (const response of await answers(style, key)) await expectUnauthenticated(response, "invalid_api_key")
    },
  })
  specify("authentication.invalid", `a revoked key is 401, ${name}`, async () => {
    for (const response of await answers(style, keys.revoked)) await expectUnauthenticated(response, "revoked_api_key")
  })

  specify("authentication.expired", `an expired key is 401, ${name}`, async () => {
    for (const response of await answers(style, keys.expired)) await expectUnauthenticated(response, "expired_api_key")
  })

  specify(
    "authentication.model",
    `a key of another scope is 403, and a key of this scope is answered, ${name}`,
    async () => {
      const response = await sendRequest(demo, style, { key: keys.scoped, model: MODEL })
      expect(response.status).toBe(403)
      expect(await errorOf(response)).toMatchObject({ code: "model_not_allowed", type: "permission_error" })
      expect((await sendRequest(demo, style, { key: keys.scoped, model: "openai/gpt-4o" })).status).toBe(200)
    },
  )
  specify("authentication.model", `a fallback outside the key's scope is 403, ${name}`, async () => {
    const model = "openai/gpt-4o"
    const body = { ...style.body(model), provider: { fallback: [MODEL] } }
    expect((await sendRequest(demo, style, { key: keys.scoped, model, body })).status).toBe(403)
  })
  specify("authentication.model", `a key lists only the models it may call, ${name}`, async () => {
    const { data, models } = await objectOf(await list({ url: demo.url, key: keys.scoped }, style))
    const names = ((data ?? models) as { id?: string; name?: string }[]).map(({ id, name: named }) => id ?? named ?? "")
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter((one) => !/^(models\/)?openai\//.test(one))).toEqual([])
  })

  specify("authentication.balance", `a key whose balance does not cover the call is 403, ${name}`, async () => {
    const { key } = await folder.create(`poor ${name}`, "--balance", "0")
    const response = await sendRequest(demo, style, { key })
    expect(response.status).toBe(403)
    expect(await errorOf(response)).toMatchObject({ code: "insufficient_balance", type: "permission_error" })
  })
}

specify("authentication.completions-style", "takes the key as a bearer, its scheme in any case", async () => {
  for (const scheme of ["Bearer", "bearer"]) {
    const style = { ...chat, keyHeader: (key: string) => ({ authorization: `${scheme} ${key}` }) }
    for (const response of await answers(style, keys.whole)) expect(response.status).toBe(200)
  }
})
specifyEach("authentication.completions-style", ["", "Basic ", "Token "], {
  sentence: (scheme) => `a key after "${scheme}" is 401`,
  check: async (scheme) => {
    const style = { ...chat, keyHeader: (key: string) => ({ authorization: scheme + key }) }
    for (const response of await answers(style, keys.whole)) await expectUnauthenticated(response, "invalid_api_key")
  },
})

specify("authentication.messages-style", "takes the key in x-api-key, with a msg-version", async () => {
  for (const response of await answers(messages, keys.whole)) expect(response.status).toBe(200)
})
specify("authentication.messages-style", "without msg-version is refused", async () => {
  for (const response of await answers({ ...messages, headers: {} }, keys.whole)) {
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ code: "invalid_version", type: "invalid_request_error" })
  }
})

specify("authentication.content-generation", "takes the key in x-gen-api-key", async () => {
  for (const response of await answers(generate, keys.whole)) expect(response.status).toBe(200)
})

const OWN = [
  ["authentication.messages-style", messages],
  ["authentication.content-generation", generate],
] as const
for (const [line, style] of OWN) {
  specify(line, "takes the key as a bearer as well", async () => {
    for (const response of await answers({ ...style, keyHeader: chat.keyHeader }, keys.whole)) {
      expect(response.status).toBe(200)
    }
  })
  specify(line, "two different keys are refused", async () => {
    const both = (key: string) => ({ ...style.keyHeader(key), ...chat.keyHeader(keys.scoped) })
    for (const response of await answers({ ...style, keyHeader: both }, keys.whole)) {
      expect(response.status).toBe(400)
      expect(await errorOf(response)).toMatchObject({ code: "invalid_parameter" })
    }
  })
}

nothingForgotten("authentication")
