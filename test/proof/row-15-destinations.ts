// Requests that try to choose a destination or a credential: only the configured provider ever receives them.
import { RunningGateway, vendorsConfig } from "../stage/gateway.ts"
import { requestHead, sendRaw } from "../stage/raw-exchange.ts"
import { ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"
import { HEADERS, MEMBERS, PARAMETERS, PLACES } from "./destination-fields.ts"
import { answersAll, MODEL_ROUTES, type ModelRoute, OTHER_MODELS } from "./model-routes.ts"
import type { ProofRow } from "./row.ts"
import { runConcurrently } from "./run-concurrently.ts"
import { TrapHost } from "./trap-host.ts"
import { urlForms } from "./url-forms.ts"
import type { JsonBody } from "./wire-dialects.ts"

const CREDENTIAL = "upstream-credential"
const AT_ONCE = 32
const FAR = "http://169.254.169.254"

interface DestinationAttack {
  readonly route: ModelRoute
  readonly model?: string
  readonly query?: string
  readonly headers?: Record<string, string>
  /** Takes the sound body, gives the attacker's. */
  readonly body?: (sound: JsonBody) => JsonBody
  readonly question?: string
}

/** Each field at each route with so many of the forms, in turn, so that every form comes by everywhere. */
function* fieldAttacks(forms: readonly string[], each: number): Generator<DestinationAttack> {
  let turn = 0
  const some = (all: boolean) =>
    Array.from({ length: all ? forms.length : each }, () => forms[turn++ % forms.length] ?? "")
  for (const route of MODEL_ROUTES) {
    for (const place of PLACES) {
      for (const name of MEMBERS) {
        const all = each > 1 && place === "" && name === "base_url"
        for (const form of some(all)) yield { route, body: (sound) => withField(sound, place, { [name]: form }) }
      }
    }
    for (const name of HEADERS) {
      for (const form of some(false)) yield { route, headers: { [name]: headerText(form) } }
    }
    for (const name of PARAMETERS) {
      for (const form of some(false)) yield { route, query: `${encodeURIComponent(name)}=${encodeURIComponent(form)}` }
    }
  }
}

function withField(sound: JsonBody, place: string, field: JsonBody): JsonBody {
  return place === "" ? { ...sound, ...field } : { ...sound, [place]: field }
}

function headerText(form: string): string {
  return form.replace(/[^\x21-\x7e]/g, (character) => encodeURIComponent(character))
}

/** A model, a fallback, or a part of a message that is an address. */
function* namedAttacks(forms: readonly string[]): Generator<DestinationAttack> {
  for (const form of forms) {
    for (const route of MODEL_ROUTES) {
      yield { route, model: form, body: (sound) => ("model" in sound ? { ...sound, model: form } : sound) }
      yield { route, body: (sound) => ({ ...sound, provider: { fallback: [form] } }) }
    }
  }
}

/** Addresses in a message that a provider may fetch and the gateway may not. */
function* mediaAttacks(forms: readonly string[]): Generator<DestinationAttack> {
  for (const form of forms) {
    for (const route of MODEL_ROUTES) yield { route, body: (sound) => withMedia(sound, form) }
  }
}

function withMedia(sound: JsonBody, url: string): JsonBody {
  if ("input" in sound) {
    const parts = [
      { type: "input_image", image_url: url },
      { type: "input_file", file_url: url },
    ]
    return {
      ...sound,
      input: [{ role: "user", content: parts }],
      tools: [{ type: "mcp", server_label: "x", server_url: url }],
    }
  }
  if ("contents" in sound) {
    return { ...sound, contents: [{ role: "user", parts: [{ fileData: { mimeType: "image/png", fileUri: url } }] }] }
  }
  if (!("messages" in sound)) return { ...sound, image: url, mask: url }
  const image = { type: "image_url", image_url: { url } }
  const block = { type: "image", source: { type: "url", url } }
  return { ...sound, messages: [{ role: "user", content: ["max_tokens" in sound ? block : image] }] }
}

/** The provider's own answer leads elsewhere: `redirect 302 to 17` asks for that. */
function* redirectAttacks(forms: readonly string[], step: number): Generator<DestinationAttack> {
  for (let index = 0; index < forms.length; index += step) {
    for (const [at, route] of MODEL_ROUTES.entries()) {
      const status = [301, 302, 303, 307, 308, 300, 200][(index + at) % 7]
      yield { route, question: `redirect ${status} to ${index}` }
    }
  }
}

/** Destinations in the connection itself. */
function rawAttacks(forms: readonly string[], key: string): string[] {
  const body = JSON.stringify({ model: "test/model", messages: [{ role: "user", content: "hi" }] })
  const lines = (host: string) =>
    [
      ["Host", host],
      ["Authorization", `Bearer ${key}`],
      ["Content-Type", "application/json"],
      ["Content-Length", String(body.length)],
      ["Connection", "close"],
    ] as const
  return forms.flatMap((form) => {
    const target = headerText(form)
    const host = target.replace(/^\w+:\/*/, "").split("/")[0] ?? ""
    return [
      requestHead("POST /v1/chat/completions", lines(host)) + body,
      requestHead(`POST http://${host}/v1/chat/completions`, lines("gateway")) + body,
      requestHead(`POST ${target}`, lines("gateway")) + body,
      requestHead(`CONNECT ${host}`, lines(host)) + body,
    ]
  })
}

/** Forbidden values that reached the configured provider. */
class DestinationWitness {
  calls = 0
  strangers = 0

  constructor(
    private readonly host: string,
    private readonly forms: readonly string[],
  ) {}

  readonly script: UpstreamScript = (request, reply) => {
    const { headers, path, body } = request
    this.calls++
    const presented = headers.authorization ?? headers["x-api-key"] ?? headers["x-goog-api-key"] ?? ""
    const isOurs = presented.replace("Bearer ", "") === CREDENTIAL && headers.host === this.host
    if (!isOurs || !/^\/v1(beta)?\/[\w/:.-]+(\?alt=sse)?$/.test(path)) this.strangers++
    const [, status, index] = /redirect (\d+) to (\d+)/.exec(body.toString()) ?? []
    if (index === undefined) return answersAll(request, reply)
    const location = headerText(this.forms[Number(index)] ?? "")
    const result = {
      location,
      refresh: `0; url=${location}`,
      "content-location": location,
      link: `<${location}>; rel=next`,
    }
    reply.json({}, Number(status), { ...result, "alt-svc": `http/1.1="${location}"` })
  }
}

/** Whatever is not on 127.0.0.1 goes through a proxy, which is the trap: so nothing can leave unseen. */
function behind(trap: TrapHost): Record<string, string> {
  const proxy = `http://127.0.0.1:${trap.port}`
  return { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, http_proxy: proxy, https_proxy: proxy, NO_PROXY: "127.0.0.1" }
}

export const destinations: ProofRow = {
  number: 15,
  title: "destination override; SSRF",
  async run({ short, print }) {
    const trap = await TrapHost.start()
    const upstream = await ScriptedUpstream.start()
    const other = await ScriptedUpstream.start(answersAll)
    const forms = urlForms(trap)
    const witness = new DestinationWitness(`127.0.0.1:${upstream.port}`, forms)
    upstream.script = witness.script
    const gateway = await RunningGateway.start({ config: config(upstream, other), environment: behind(trap) })
    try {
      const attacks = attacksWith(forms, short)
      const statuses = await attackAll(gateway, attacks)
      const raw = rawAttacks(short ? forms.slice(0, 40) : forms, gateway.key)
      await runConcurrently(raw, {
        atOnce: AT_ONCE,
        act: (bytes) => sendRaw(gateway.url, Buffer.from(bytes, "latin1")),
      })
      print(`answers by status: ${[...statuses].map(([status, count]) => `${status}: ${count}`).join(", ")}`)
      const { connections, bytes } = trap
      const { calls, strangers } = witness
      // The trap works: with an administrator's permission the gateway connects to it.
      await gateway.chat({ model: "test/far", messages: [{ role: "user", content: "hi" }] })
      const wished = trap.connections - connections
      return [
        { what: "forms of addresses", seen: forms.length, atLeast: 200 },
        { what: "attacks", seen: attacks.length + raw.length, atLeast: short ? 5000 : 50_000 },
        { what: "connections to any other origin", seen: connections, atMost: 0 },
        { what: "bytes to any other origin", seen: bytes, atMost: 0 },
        { what: "calls to a configured provider that was not requested", seen: other.requests.length, atMost: 0 },
        { what: "calls with another credential, host or path", seen: strangers, atMost: 0 },
        { what: "attacks that reached the provider as plain text", seen: calls, atLeast: 500 },
        { what: "answers with status 500", seen: statuses.get(500) ?? 0, atMost: 0 },
        { what: "connections to the trap with an administrator's permission", seen: wished, atLeast: 1 },
      ]
    } finally {
      await gateway.stop()
      await Promise.all([upstream.stop(), other.stop(), trap.stop()])
    }
  },
}

function attacksWith(forms: readonly string[], short: boolean): DestinationAttack[] {
  const some = (first: number) => (short ? forms.filter((_, index) => index % 8 === first) : forms)
  return [
    ...fieldAttacks(forms, short ? 1 : 16),
    ...namedAttacks(some(0)),
    ...mediaAttacks(some(1)),
    ...redirectAttacks(forms, short ? 8 : 1),
  ]
}

function config(upstream: ScriptedUpstream, other: ScriptedUpstream): string {
  const more = `${OTHER_MODELS}
  - { id: other/model, kind: chat, pricing: { input: "1", output: "2" }, targets: [{ provider: other, model: m }] }
  - { id: test/far, kind: chat, pricing: { input: "1", output: "2" }, targets: [{ provider: far, model: m }] }`
  const providers = `providers:
  other: { type: openai-compatible, base_url: "${other.baseUrl}", api_key: "another-credential" }
  far: { type: openai-compatible, base_url: "${FAR}/v1", api_key: "another-credential" }`
  return vendorsConfig(upstream.origin, more).replace("providers:", providers)
}

async function attackAll(gateway: RunningGateway, attacks: readonly DestinationAttack[]): Promise<Map<number, number>> {
  const statuses = new Map<number, number>()
  await runConcurrently(attacks, {
    atOnce: AT_ONCE,
    act: async (attack) => {
      const response = await put(gateway, attack)
      await response.arrayBuffer()
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
    },
  })
  return statuses
}

function put({ url, key }: RunningGateway, attack: DestinationAttack): Promise<Response> {
  const { route, model = "test/model", query, headers = {}, body = (sound) => sound, question = "hi" } = attack
  const path = route.path(model === "test/model" ? model : encodeURIComponent(model))
  const mark = path.includes("?") ? "&" : "?"
  return fetch(url + path + (query === undefined ? "" : mark + query), {
    method: "POST",
    headers: { ...route.headers(key), ...headers },
    body: JSON.stringify(body(route.body(question, "test/model"))),
    redirect: "manual",
  })
}
