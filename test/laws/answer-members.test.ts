// Law: an answer to a client has only members that its vendor writes, and null only where the vendor writes null.
// Clients validate what they read: two majors of one library rejected `"citations": null`.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { assembleResponse } from "../../src/canonical/chat/assemble-response.ts"
import { codecs } from "../../src/protocols.ts"
import { recorded, sampleSize } from "../recordings/recorded.ts"
import { answers } from "./answers.ts"
import { collectMembers, type MemberPaths, membersOutside } from "./member-paths.ts"
import { recordedAnswers, streamIn, wholeIn } from "./recorded-answers.ts"
import { vendorAnswers } from "./vendor-answers.ts"
import { VENDOR_MEMBERS } from "./vendor-members.ts"

const protocols = [...codecs.ingress.keys()]

function tableOf(protocol: string) {
  const table = VENDOR_MEMBERS.get(protocol)
  if (!table) throw new Error(`no table has the members of ${protocol}`)
  return table
}

describe.each(protocols)("answers in %s", (protocol) => {
  const { recorded: seen, all } = tableOf(protocol)

  test("whole answers have only members of the vendor's set", () => {
    fc.assert(
      fc.property(answers, (events) => {
        expect(membersOutside(collectMembers(wholeIn(protocol, assembleResponse(events)), new Map()), all)).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  test("streamed answers have only members of the vendor's set", () => {
    fc.assert(
      fc.property(answers, (events) => {
        const written: MemberPaths = new Map()
        for (const body of streamIn(protocol, events)) collectMembers(body, written)
        expect(membersOutside(written, all)).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  test("answers to recorded exchanges have only members of the vendor's set", () => {
    const written: MemberPaths = new Map()
    const found = recordedAnswers()
    for (const { response, events } of found) {
      collectMembers(wholeIn(protocol, response), written)
      for (const body of streamIn(protocol, events)) collectMembers(body, written)
    }
    expect(found.length).toBeGreaterThanOrEqual(sampleSize(600))
    expect(membersOutside(written, all)).toEqual([])
  })

  recorded("the table of members matches the vendor's own recorded answers", () => {
    const found: MemberPaths = new Map()
    for (const answer of vendorAnswers(protocol)) collectMembers(answer, found)
    const shown = (paths: MemberPaths) => [...paths].map(([path, { isNull }]) => (isNull ? `${path}?` : path)).sort()
    expect(shown(found)).toEqual(shown(seen))
  })
})
