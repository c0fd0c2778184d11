// Requests that try to run another model than the one billed, to exceed their output limit, or to name another tenant's
// objects in the shared account, at a host that obeys all of it: it never receives them.
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { CaseInsensitiveHost } from "./case-insensitive-host.ts"
import type { ProofRow } from "./row.ts"
import { runConcurrently } from "./run-concurrently.ts"
import { type JsonBody, WIRE_DIALECTS, type WireDialect } from "./wire-dialects.ts"

const AT_ONCE = 16
const LIMIT = 5
const DEAR = "upstream-dear"

interface ModelAttack {
  readonly dialect: WireDialect
  readonly streamed: boolean
  /** JSON text, so that a name may be written with escapes. */
  readonly text: string
}

/** Every way to spell a name that some decoder takes for it. */
function spellings(name: string): string[] {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  const forms = [name, camel, `${camel[0]?.toUpperCase()}${camel.slice(1)}`, name.toUpperCase(), camel.toUpperCase()]
  const odd = [name.replace("s", "\u017f"), name.replace("k", "\u212a"), camel.toLowerCase()]
  const escaped = [...forms, ...odd].map((form) => form.replace(/[a-z]/i, (letter) => unicode(letter)))
  return [...new Set([...forms, ...odd, ...escaped])].filter((form) => form !== name)
}

function unicode(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`
}

const LIMITS = ["max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "num_predict"]
const LISTS = ["models", "fallbacks", "route", "preset", "plugins", "extra_body", "compound_custom", "provider_options"]
const OBJECTS = ["file_id", "file_ids", "container_id", "vector_store_ids", "cached_content"]

/** Members to add to those of a sound body, as JSON text. */
function* members(): Generator<string> {
  for (const name of spellings("model")) yield `"${name}":"${DEAR}"`
  for (const name of LIMITS) {
    for (const form of [name, ...spellings(name)]) {
      yield `"${form}":90000`
      yield `"generation_config":{"maxOutputTokens":${LIMIT},"${form}":90000}`
    }
  }
  for (const name of LISTS) {
    for (const form of [name, ...spellings(name)]) {
      yield `"${form}":["test/dear"]`
      yield `"${form}":[{"model":"test/dear"}]`
      yield `"${form}":{"models":["${DEAR}"],"model":"${DEAR}"}`
    }
  }
  for (const name of OBJECTS) {
    for (const form of [name, ...spellings(name)]) {
      yield `"${form}":"theirs"`
      yield `"tools":[{"type":"other","container":{"${form}":["theirs"]}}]`
      yield `"extra":[{"deep":{"${form}":"theirs"}}]`
      yield `"extra":{"held":{"${form}":"theirs"},"held":{}}`
    }
  }
  yield `"tools":[{"type":"advisor_1","name":"advisor","model":"${DEAR}"}]`
}

function* attacks(): Generator<ModelAttack> {
  for (const dialect of WIRE_DIALECTS) {
    for (const streamed of [false, true]) {
      const sound = soundText(dialect, streamed)
      for (const member of members()) {
        yield { dialect, streamed, text: `${sound.slice(0, -1)},${member}}` }
        yield { dialect, streamed, text: `{${member},${sound.slice(1)}` }
      }
    }
  }
}

/** A model other than the one that the key may call. */
const DEAR_MODEL = `
  - { id: test/dear, kind: chat, context_window: 1000, max_output_tokens: 100, pricing: { input: "100", output: "200" },
      targets: [{ provider: openai-like, model: ${DEAR} }, { provider: anthropic-like, model: ${DEAR} },
                { provider: gemini-like, model: ${DEAR} }] }
`

async function narrowKey(gateway: RunningGateway): Promise<string> {
  const body = JSON.stringify({ name: "narrow", models: ["test/model"], requests_per_minute: 1_000_000_000 })
  const made = await gateway.administer("/admin/v1/keys", { method: "POST", body })
  return ((await made.json()) as { key: string }).key
}

export const otherModels: ProofRow = {
  number: 22,
  title: "another model, a larger limit or another tenant's objects, at a host that obeys every spelling",
  async run({ short }) {
    const host = await CaseInsensitiveHost.start()
    const gateway = await RunningGateway.start({ config: vendorsConfig(host.origin, DEAR_MODEL) })
    try {
      const key = await narrowKey(gateway)
      const all = [...attacks()]
      const chosen = short ? all.filter((_, index) => index % 29 === 0) : all
      const statuses = await runConcurrently(chosen, { atOnce: AT_ONCE, act: (attack) => send(gateway, key, attack) })
      const seen = [...host.obeyed]
      host.obeyed.length = 0
      const sound = [...WIRE_DIALECTS].flatMap((dialect) => [false, true].map((streamed) => soundOf(dialect, streamed)))
      const answered = await runConcurrently(sound, { atOnce: 1, act: (each) => send(gateway, key, each) })
      return [
        { what: "attacks", seen: chosen.length, atLeast: short ? 300 : 8000 },
        {
          what: "runs of a model that the key may not call",
          seen: count(seen, ({ model }) => model.includes("dear")),
          atMost: 0,
        },
        {
          what: "runs with a larger limit than the hold covers",
          seen: count(seen, ({ limit }) => limit > LIMIT),
          atMost: 0,
        },
        {
          what: "runs that named an object of the account",
          seen: count(seen, ({ objects }) => objects.length > 0),
          atMost: 0,
        },
        {
          what: "answers other than 200, 400 and 403",
          seen: count(statuses, (status) => ![200, 400, 403].includes(status)),
          atMost: 0,
        },
        { what: "sound requests that were not answered", seen: count(answered, (status) => status !== 200), atMost: 0 },
      ]
    } finally {
      await gateway.stop()
      await host.stop()
    }
  },
}

function count<Item>(items: readonly Item[], isMeant: (item: Item) => boolean): number {
  return items.filter(isMeant).length
}

function soundOf(dialect: WireDialect, streamed: boolean): ModelAttack {
  return { dialect, streamed, text: soundText(dialect, streamed) }
}

const OWN_LIMITS: Readonly<Record<WireDialect["name"], JsonBody>> = {
  chat: { max_tokens: LIMIT },
  responses: { max_output_tokens: LIMIT },
  messages: { max_tokens: LIMIT },
  "gemini events": { generationConfig: { maxOutputTokens: LIMIT } },
  "gemini array": { generationConfig: { maxOutputTokens: LIMIT } },
}

function soundText(dialect: WireDialect, streamed: boolean): string {
  return JSON.stringify({ ...dialect.body("hi", { model: "test/model", streamed }), ...OWN_LIMITS[dialect.name] })
}

async function send(gateway: RunningGateway, key: string, { dialect, streamed, text }: ModelAttack): Promise<number> {
  const path = dialect.path("test/model", streamed)
  const headers = { "content-type": "application/json", ...dialect.headers(key) }
  const response = await fetch(gateway.url + path, { method: "POST", headers, body: text })
  await response.text()
  return response.status
}
