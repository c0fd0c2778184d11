import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { CLIENTS, FEATURE_NAMES, isSupportedBy, type MatrixFeature, UPSTREAMS } from "./axes.ts"
import { conformancePage, PAGE } from "./page.ts"
import { refusalOf, unlawfulRefusals } from "./refusals.ts"
import { allCells, type CellResult, runCell } from "./run-cell.ts"
import { type MatrixStage, startStage } from "./stage.ts"
import { type GatewayTampering, startUnfaithfulStage, type UnfaithfulStage } from "./unfaithful-gateway.ts"

describe("the conformance matrix", () => {
  let stage: MatrixStage
  beforeAll(async () => {
    stage = await startStage(UPSTREAMS)
  })
  afterAll(() => stage.stop())

  for (const client of CLIENTS) {
    for (const upstream of UPSTREAMS) {
      test(`${client} works with ${upstream}: text, streams and tools`, async () => {
        for (const feature of ["text", "stream", "tools"] as const) {
          const { status, problems } = await runCell({ client, upstream, feature }, stage)
          expect({ feature, status, problems }).toEqual({ feature, status: "passes", problems: [] })
        }
      })
    }
  }
})

/** The matrix when nothing fails, but for its footnotes. */
function soundResults(): CellResult[] {
  return allCells().map((cell) => ({
    ...cell,
    status: refusalOf(cell) ? "refused" : "passes",
    problems: [],
    notes: [],
  }))
}

function withoutFootnotes(page: string): string {
  return page.replaceAll(/ \(\d+\)/g, "").replaceAll(/^\d+\. .*\n/gm, "")
}

const written = existsSync(PAGE) ? "" : " (there is none yet)"
test.skipIf(written !== "")(
  `docs/conformance.md covers every cell, and none fails${written}; npm run conformance writes it`,
  () => {
    expect(withoutFootnotes(readFileSync(PAGE, "utf8"))).toBe(withoutFootnotes(conformancePage(soundResults())))
  },
)

test("a feature that every pair must support is never documented as refused", () => {
  expect(unlawfulRefusals()).toEqual([])
})

/** The text without the first match, or with something else in its place. */
function changed(what: string | RegExp, by = ""): (text: string) => string {
  return (text) => text.replace(what, by)
}

/** For each feature that chat completions have, what a careless gateway might do, and a cell must see. */
const TAMPERINGS: Readonly<Partial<Record<MatrixFeature, Readonly<Record<string, GatewayTampering>>>>> = {
  text: {
    "drops instructions": { changeRequest: changed(/\{"role":"system"[^}]*\},/) },
    "turns instructions into a user message": { changeRequest: changed('"role":"system"', '"role":"user"') },
    "cuts the text": { answered: changed("So it is.") },
    "leaks the caller's key": { leaksKey: true },
    "names another model": { answered: changed("matrix/openai-chat", "other") },
    "reports a truncated answer": { answered: changed('"finish_reason":"stop"', '"finish_reason":"length"') },
  },
  stream: {
    "loses a piece": { answered: changed(/data: \{[^\n]*"content":"I am a "[^\n]*\n\n/) },
    "asks for no stream": { changeRequest: changed('"stream":true', '"stream":false') },
  },
  "multi-turn": {
    "drops a turn": { changeRequest: changed('{"role":"assistant","content":"Good day."},') },
    "mixes up the roles": { changeRequest: changed('"role":"assistant"', '"role":"user"') },
  },
  tools: {
    "drops a definition's schema": {
      changeRequest: changed(/"parameters":\{.*?\}\},"required":\["city"\]\}/, '"parameters":{}'),
    },
    "renames a call": { changeRequest: changed('"id":"call_a1B2c3D4"', '"id":"call_other"') },
    "detaches a result": { changeRequest: changed('"tool_call_id":"call_a1B2c3D4"', '"tool_call_id":"call_other"') },
    "changes an argument": { answered: changed('\\"unit\\":\\"C\\"', '\\"unit\\":\\"F\\"') },
    "reports another finish reason": { answered: changed('"finish_reason":"tool_calls"', '"finish_reason":"stop"') },
  },
  "parallel tools": {
    "swaps results": {
      changeRequest: (text) => text.replace("12 °C", "~").replace("24 °C", "12 °C").replace("~", "24 °C"),
    },
    "gives two calls one id": { answered: (text) => text.replaceAll("call_e5F6g7H8", "call_a1B2c3D4") },
  },
  "forced tool": {
    "does not force it": { changeRequest: changed(/"tool_choice":\{[^}]*\}\}/, '"tool_choice":"auto"') },
  },
  "tool result with image": {
    "drops the image in silence": { changeRequest: changed(/,\{"type":"image_url"[^}]*\}\}/) },
  },
  "tool error": { "drops its text": { changeRequest: changed("The service is down.", "OK") } },
  "image in": { "changes its bytes": { changeRequest: changed("iVBORw0", "iVBORw1") } },
  "document in": { "changes its type": { changeRequest: changed("application/pdf", "text/plain") } },
  "JSON schema": { "drops a keyword": { changeRequest: changed('"required":["city"],') } },
  reasoning: {
    "thinks less": { changeRequest: changed('"reasoning_effort":"high"', '"reasoning_effort":"low"') },
    "mixes thought and text": { answered: (text) => text.replaceAll("reasoning_content", "content") },
  },
  "reasoning with tools over turns": {
    "hides the thought": { answered: (text) => text.replaceAll("reasoning_content", "hidden") },
  },
  "seals behind text": { "cuts the text": { answered: changed(", of course.") } },
  "cache marks": { "drops the key in silence": { changeRequest: changed(/,?"prompt_cache_key":"[^"]*"/) } },
  "stop sequence": { "drops one": { changeRequest: changed('"THE END",') } },
  usage: {
    "counts cached tokens twice": { answered: changed('"prompt_tokens":70', '"prompt_tokens":90') },
    "drops the cached tokens": { answered: changed('"cached_tokens":20', '"cached_tokens":0') },
  },
  "length finish": {
    "reports a complete answer": { answered: changed('"finish_reason":"length"', '"finish_reason":"stop"') },
    "drops the limit": { changeRequest: changed(/,?"max_completion_tokens":64/) },
  },
  refusal: {
    "reports a normal answer": { answered: changed("content_filter", "stop") },
    "makes it text": { answered: changed(/"content":null,"refusal":("[^"]*")/, '"content":$1,"refusal":null') },
  },
  "mid-stream error": {
    "reports a complete answer": { answered: changed(/data: \{"error".*\n\n/), hidesBreaks: true },
  },
}

describe("a cell of the matrix", () => {
  let stage: UnfaithfulStage
  beforeAll(async () => {
    stage = await startUnfaithfulStage()
  })
  afterAll(() => stage.stop())

  const run = (feature: MatrixFeature) => runCell({ client: "openai-chat", upstream: "openai-chat", feature }, stage)

  const features = FEATURE_NAMES.filter((feature) => isSupportedBy(feature, "openai-chat"))
  test.each(features)("a cell passes for a gateway that is faithful about %s", async (feature) => {
    stage.tampering = {}
    expect((await run(feature)).problems).toEqual([])
  })

  const cases = features.flatMap((feature) =>
    Object.entries(TAMPERINGS[feature] ?? {}).map(([name, tampering]) => [feature, name, tampering] as const),
  )
  test.each(cases)("a cell fails for a gateway that is unfaithful about %s: %s", async (feature, _, tampering) => {
    stage.tampering = tampering
    expect((await run(feature)).status).toBe("fails")
  })
})
