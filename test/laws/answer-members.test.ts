// Law: an answer to a client has no member that its vendor does not write, and none is null that the vendor never writes
// as null. Clients validate what they read: `"citations": null` was refused by two majors of one library.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { fold } from "../../src/canonical/fold.ts"
import type { JsonObject } from "../../src/canonical/json.ts"
import { codecs } from "../../src/protocols.ts"
import { recorded, recordings, streamText } from "../conformance/recorded.ts"
import { answers } from "./answers.ts"
import { collectMembers, type MemberPaths, membersOutside } from "./member-paths.ts"
import { dataIn, ENDPOINTS, recordedAnswers, streamIn, wholeIn } from "./recorded-answers.ts"
import { VENDOR_MEMBERS } from "./vendor-members.ts"

const protocols = [...codecs.ingress.keys()]

function tableOf(protocol: string) {
  const table = VENDOR_MEMBERS.get(protocol)
  if (!table) throw new Error(`no table has the members of ${protocol}`)
  return table
}

/** The hosts whose answers are the vendor's own. */
const VENDORS: Readonly<Record<string, readonly string[]>> = {
  "openai-chat": ["openai", "azure-openai"],
  "openai-responses": ["openai", "azure-openai"],
  "anthropic-messages": ["anthropic"],
  "gemini-generate": ["gemini", "vertex"],
}

/** The member without which a body is no answer of the protocol: some recordings are of other interfaces. */
const MARKS: Readonly<Record<string, string>> = {
  "openai-chat": "choices",
  "openai-responses": "output",
  "anthropic-messages": "content",
  "gemini-generate": "candidates",
}

function vendorAnswers(protocol: string): JsonObject[] {
  const endpoints = Object.keys(ENDPOINTS).filter((endpoint) => ENDPOINTS[endpoint] === protocol)
  const own = endpoints
    .flatMap((endpoint) => recordings(endpoint))
    .filter(({ provider, status }) => status === 200 && VENDORS[protocol]?.includes(provider))
  return own.flatMap((recording) => {
    const text = streamText(recording)
    if (text !== undefined) return dataIn(text).filter(({ error }) => error === undefined)
    const body = recording.response.body as JsonObject
    const isAnswer = body[MARKS[protocol] ?? ""] !== undefined && (protocol === "openai-chat" || isNamedAs(body))
    return isAnswer ? [body] : []
  })
}

function isNamedAs({ object }: JsonObject): boolean {
  return object === undefined || object === "response"
}

describe.each(protocols)("answers in %s", (protocol) => {
  const { recorded: seen, all } = tableOf(protocol)

  test("whole, have no member outside of the vendor's set", () => {
    fc.assert(
      fc.property(answers, (events) => {
        expect(membersOutside(collectMembers(wholeIn(protocol, fold(events)), new Map()), all)).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  test("streamed, have no member outside of the vendor's set", () => {
    fc.assert(
      fc.property(answers, (events) => {
        const written: MemberPaths = new Map()
        for (const said of streamIn(protocol, events)) collectMembers(said, written)
        expect(membersOutside(written, all)).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  recorded("to every recorded exchange have no member outside of the vendor's set", () => {
    const written: MemberPaths = new Map()
    const found = recordedAnswers()
    for (const { response, events } of found) {
      collectMembers(wholeIn(protocol, response), written)
      for (const said of streamIn(protocol, events)) collectMembers(said, written)
    }
    expect(found.length).toBeGreaterThan(600)
    expect(membersOutside(written, all)).toEqual([])
  })

  recorded("are compared with a table that says what the vendor's own recorded answers say", () => {
    const found: MemberPaths = new Map()
    for (const answer of vendorAnswers(protocol)) collectMembers(answer, found)
    const shown = (paths: MemberPaths) => [...paths].map(([path, { isNull }]) => (isNull ? `${path}?` : path)).sort()
    expect(shown(found)).toEqual(shown(seen))
  })
})
