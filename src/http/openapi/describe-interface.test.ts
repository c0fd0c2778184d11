// Compares the OpenAPI description with the routes and with each protocol's own checks of requests.
import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import type { ExchangeDeps } from "../../exchange/exchange-deps.ts"
import { geminiGenerate } from "../../protocols/chat/gemini-generate/gemini-generate.ts"
import { openaiChat } from "../../protocols/chat/openai-chat/openai-chat.ts"
import type { Protocol, RequestEnvelope } from "../../protocols/contract.ts"
import { protocols } from "../../protocols.ts"
import { violations } from "../../simulator/schema/schema-check.fixture.ts"
import { protocolRoutes } from "../protocol-routes.ts"
import { describeInterface } from "./describe-interface.ts"
import { PROTOCOL_TEXTS } from "./operation-texts.ts"
import { BODIES } from "./request-bodies.ts"
import { type RequestSample, SAMPLES, VALUES } from "./request-samples.fixture.ts"
import { errorSchemas, errorShapeOf } from "./response-schemas.ts"

const routes = protocols.flatMap((protocol) => protocolRoutes(protocol, {} as ExchangeDeps))
const described = describeInterface(routes, "1")

function protocolOf({ protocol }: RequestSample): Protocol {
  const found = protocols.find(({ id }) => id === protocol)
  if (!found) throw new Error(`there is no ${protocol}`)
  return found
}

function schemaOf({ protocol, does }: RequestSample): JsonObject {
  const { schema, counted } = BODIES[protocol]
  return does === "count-tokens" && counted ? counted : schema
}

function refusal(sample: RequestSample, body: JsonObject): string | undefined {
  try {
    protocolOf(sample).bodyGuard.check(body)
    protocolOf(sample).readRequest(body, envelopeOf(sample))
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    return thrown.message
  }
}

function envelopeOf({ does, rest = "" }: RequestSample): RequestEnvelope {
  return { does, rest, query: "", headers: { "anthropic-version": "2023-06-01" } }
}

/** The top-level members of a schema. */
function membersOf({ properties, anyOf }: JsonObject): string[] {
  const inner = Array.isArray(anyOf) ? anyOf.filter(isObject).flatMap(membersOf) : []
  return [...new Set([...Object.keys(isObject(properties) ? properties : {}), ...inner])]
}

/** The top-level members that the checks read. */
function membersRead(sample: RequestSample): string[] {
  const read = new Set<string>()
  const body = new Proxy(sample.body, {
    get(target, name) {
      if (typeof name === "string") read.add(name)
      return target[name as string]
    },
  })
  protocolOf(sample).readRequest(body, envelopeOf(sample))
  return [...read]
}

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The body with each of its values in turn omitted or replaced. */
function* changed(value: Json, others: readonly Json[]): Generator<Json | undefined> {
  yield undefined
  yield* others
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const each of changed(item, others)) yield value.toSpliced(index, 1, ...(each === undefined ? [] : [each]))
    }
  }
  if (!isObject(value)) return
  for (const [name, member] of Object.entries(value)) {
    const { [name]: _, ...rest } = value
    for (const each of changed(member, others)) yield each === undefined ? rest : { ...rest, [name]: each }
  }
}

/** The words that the checks' own messages name as allowed values. */
function wordsOf(sample: RequestSample): string[] {
  const bodies = [...changed(sample.body, VALUES)].filter(isObject)
  return [...new Set(bodies.flatMap((body) => refusal(sample, body)?.match(/\w+/g) ?? []))]
}

test("every route of every protocol is described in words", () => {
  const operations = Object.entries(described.paths as Record<string, Record<string, JsonObject>>).flatMap(
    ([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  for (const { method, path } of routes) {
    const named = path.replace("{rest}", "{model}")
    const found = operations.filter(
      (each) =>
        each.method === method.toLowerCase() &&
        [each.path, ...((each.operation["x-spellings"] ?? []) as string[])].some(
          (other) => other.replace(/}:\w+$/, "}") === named,
        ),
    )
    expect([method, path, found.length > 0]).toEqual([method, path, true])
    for (const { operation } of found) expect(operation.tags).not.toEqual(["Others"])
  }
})

test("a protocol has one endpoint per operation, so its paths are spellings of one another", () => {
  for (const { id, endpoints } of protocols) {
    const done = endpoints.map(({ method, does }) => `${id} ${method} ${does}`)
    expect(done).toEqual([...new Set(done)])
  }
})

describe.each(SAMPLES)("$name", (sample) => {
  const schema = schemaOf(sample)

  test("the sample body is accepted and uses every described member", () => {
    expect(refusal(sample, sample.body)).toBeUndefined()
    expect(violations(sample.body, schema, described)).toEqual([])
    const used = [...Object.keys(sample.body), ...(sample.otherForm ?? [])]
    expect(membersOf(schema).filter((name) => !used.includes(name))).toEqual([])
  })

  test("exactly the members that the gateway reads are described", () => {
    const { refused } = BODIES[sample.protocol]
    const known = membersOf(schema)
    const spelled = new Set([...known, ...known.map(snake), ...refused])
    const read = membersRead(sample)
    expect(read.filter((name) => !spelled.has(name))).toEqual([])
    const others = sample.otherForm ?? []
    expect(known.filter((name) => !read.includes(name) && !others.includes(name))).toEqual([])
  })

  test("a body is valid by its description exactly if the gateway accepts it", () => {
    let taken = 0
    let count = 0
    for (const body of changed(sample.body, [...VALUES, ...wordsOf(sample)])) {
      if (!isObject(body)) continue
      count++
      const message = refusal(sample, body)
      const broken = violations(body, schema, described)
      if (message === undefined) taken++
      if ((message === undefined) !== (broken.length === 0)) expect({ body, message, broken }).toBeUndefined()
    }
    expect(taken).toBeGreaterThan(10)
    expect(count - taken).toBeGreaterThan(10)
  })

  test("every member listed as refused is rejected", () => {
    for (const name of BODIES[sample.protocol].refused) {
      expect([name, refusal(sample, { ...sample.body, [name]: "x" })]).not.toEqual([name, undefined])
    }
  })
})

test.each(SAMPLES)(
  "$name: a list of models is valid by its description exactly if the gateway accepts it",
  (sample) => {
    const { provider: _, ...body } = sample.body
    for (const name of ["models", "fallbacks"]) {
      const lists = [
        ["a/b"],
        ["a", "b", "c", "d", "e"],
        ["1", "2", "3", "4", "5", "6"],
        [""],
        [{ model: "x" }],
        ...VALUES,
      ]
      for (const list of lists) {
        const { model: __, ...unnamed } = body
        for (const each of [body, unnamed]) {
          const listed = { ...each, [name]: list }
          const message = refusal(sample, listed)
          const broken = violations(listed, schemaOf(sample), described)
          if ((message === undefined) !== (broken.length === 0)) expect({ listed, message, broken }).toBeUndefined()
        }
      }
    }
  },
)

test("every protocol has a sample body", () => {
  const sampled = new Set<string>(SAMPLES.map(({ protocol }) => protocol))
  expect([...sampled].sort()).toEqual(Object.keys(BODIES).sort())
})

test("every member of the routing extension is described", () => {
  const [sample] = SAMPLES
  if (!sample) throw new Error("there are samples")
  const message = refusal(sample, { ...sample.body, provider: { unheard_of: 1 } }) ?? ""
  const has = /It has: (.+)\.$/.exec(message)?.[1]?.split(", ") ?? []
  const { schemas } = described.components as { schemas: { Routing: { properties: JsonObject } } }
  expect(has.length).toBeGreaterThan(5)
  expect(Object.keys(schemas.Routing.properties).sort()).toEqual(has.sort())
})

test("every method of content generation is described", () => {
  const envelope = { does: "generate", rest: "models/a/b:unheardOf", query: "", headers: {} } as const
  let message = ""
  try {
    geminiGenerate.checkEnvelope(envelope)
  } catch (thrown) {
    message = thrown instanceof GatewayError ? thrown.message : ""
  }
  const methods = message.match(/:\w+(?=[,.])/g) ?? []
  expect(methods.length).toBeGreaterThan(2)
  expect((PROTOCOL_TEXTS["gemini-generate"].generate ?? []).map(({ end }) => end ?? "").sort()).toEqual(methods.sort())
})

const listings = protocols.filter(({ listing }) => listing)

test.each(listings)("$id: every parameter of its listing is described", ({ id, listing }) => {
  const parameters = new Set<string>()
  const query = new URLSearchParams()
  query.get = (name) => {
    parameters.add(name)
    return null
  }
  query.has = (name) => parameters.add(name) && false
  listing?.encodeModels([], query)
  const [words] = PROTOCOL_TEXTS[id]["list-models"] ?? []
  const undocumented = Object.entries(words?.query ?? {}).flatMap(([name, description]) => {
    return [name, ...(/Also `(\w+)`/.exec(description)?.slice(1) ?? [])]
  })
  expect(undocumented.sort()).toEqual([...parameters].sort())
})

test.each([...protocols])("$id: errors have the described shape", (protocol) => {
  const attempts = [{ model: "a/b", provider: "c", status: 503, reason: "x" }]
  const shape = errorSchemas[errorShapeOf(protocol.id)] as JsonObject
  const closed = (schema: JsonObject): JsonObject => ({
    ...schema,
    additionalProperties: false,
    properties: Object.fromEntries(
      Object.entries(schema.properties as JsonObject).map(([name, member]) => [
        name,
        isObject(member) && member.properties ? closed(member) : member,
      ]),
    ) as JsonObject,
  })
  for (const details of [{}, { param: "model" }, { attempts }]) {
    const error = new GatewayError("upstream_unavailable", "No.", details as never)
    expect(violations(protocol.encodeError(error, { requestId: "r" }), closed(shape))).toEqual([])
  }
})

test("a route without a description is named by its method and path", () => {
  const [route] = protocolRoutes(openaiChat, {} as ExchangeDeps)
  if (!route) throw new Error("there are routes")
  const { does: _, ...undescribed } = route
  const odd = describeInterface([{ ...undescribed, name: "GET /odd", method: "GET", path: "/odd" }], "1")
  expect(odd.paths).toMatchObject({ "/odd": { get: { summary: "GET /odd", tags: ["Others"] } } })
})
