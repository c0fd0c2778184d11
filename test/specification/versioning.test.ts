// Versions in the path, in a header and in a model's name.
import { afterAll, beforeAll, expect } from "bun:test"
import { RunningGateway } from "../stage/gateway.ts"
import {
  chat,
  errorOf,
  generate,
  list,
  MODEL,
  messages,
  objectOf,
  type SpecBody,
  STYLES,
  sendRequest,
} from "./client-styles.ts"
import { nothingForgotten, specify, specifyEach } from "./specify.ts"

let demo: RunningGateway
beforeAll(async () => {
  demo = await RunningGateway.start()
})
afterAll(() => demo.stop())

specify("versioning.1", "completions-style answers below /v1, and below no other version", async () => {
  expect((await sendRequest(demo, chat)).status).toBe(200)
  expect((await sendRequest(demo, { ...chat, path: () => "/v2/chat/completions" })).status).toBe(404)
})
specify("versioning.1", "content-generation answers below /v1beta and nowhere without it", async () => {
  expect((await sendRequest(demo, generate)).status).toBe(200)
  const without = { ...generate, path: (model: string) => generate.path(model).replace("/v1beta", "") }
  expect((await sendRequest(demo, without)).status).toBe(404)
})

const MESSAGES_PATHS = ["/msgapi/v1/models", "/msgapi/v1/models/count", `/msgapi/v1/models/${MODEL}`]

/** Every messages-style route with this version. */
async function everywhere(version: string | undefined): Promise<Response[]> {
  const style = { ...messages, headers: version === undefined ? {} : { "msg-version": version } }
  const count = { ...style, path: () => "/msgapi/v1/messages/count_tokens" }
  const listings = MESSAGES_PATHS.map((path) => list(demo, style, path))
  return Promise.all([sendRequest(demo, style), sendRequest(demo, count), ...listings])
}

specifyEach("versioning.2", ["2023-06-01", "2023-01-01", "2026-10-21", "2031-01-01"], {
  sentence: (version) => `${version} is taken on every messages-style route`,
  check: async (version) => {
    for (const { status } of await everywhere(version)) expect(status).toBe(200)
  },
})
specifyEach(
  "versioning.2",
  [undefined, "", "1", "latest", "2023-6-1", "20230601", "2023-13-01", "2023-02-30", "2022-12-31", "2023-06-01T00:00"],
  {
    sentence: (version) =>
      `${version === undefined ? "none" : `"${version}"`} is refused on every messages-style route`,
    check: async (version) => {
      for (const response of await everywhere(version)) {
        expect(response.status).toBe(400)
        const error = await errorOf(response)
        expect(error).toMatchObject({ code: "invalid_version", type: "invalid_request_error" })
        expect(error.message).toContain("YYYY-MM-DD")
      }
    },
  },
)
specify("versioning.2", "the other two protocols require no such header", async () => {
  for (const style of [chat, generate]) expect((await sendRequest(demo, style)).status).toBe(200)
})

specify("versioning.3", "two versions of a model are two names", async () => {
  for (const style of STYLES) {
    for (const model of ["openai/gpt-4o", "openai/gpt-4o-2024-11-20"]) {
      const answer = await objectOf(await sendRequest(demo, style, { model }))
      expect(answer.model ?? answer.modelVersion).toBe(model)
    }
  }
})
specify("versioning.3", "the content-generation listing shows the version of each model", async () => {
  const { models } = await objectOf(await list(demo, generate))
  expect((models as SpecBody[]).length).toBeGreaterThan(100)
  for (const { version } of models as SpecBody[]) expect(version).toEqual(expect.stringMatching(/./))
})

nothingForgotten("versioning")
