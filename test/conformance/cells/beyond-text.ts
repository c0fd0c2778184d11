// Cells of features beyond plain text: files, a schema for the answer, thoughts and cache marks.
import type { MatrixCell } from "../cell.ts"
import type { MatrixRequest, ScriptedAnswer, UserPart } from "../conversation.ts"
import {
  CALL,
  DOCUMENT,
  essence,
  INSTRUCTIONS,
  mediaIn,
  PICTURE,
  requestOf,
  resultsIn,
  sealsIn,
  textsIn,
  WEATHER,
} from "./props.ts"
import { goneOn } from "./tools.ts"

const DONE: ScriptedAnswer = { parts: [{ text: "I see a dot." }], finish: "stop" }
const QUESTION = "What do you see?"

function requestWith(part: UserPart): MatrixRequest {
  return { instructions: INSTRUCTIONS, turns: [{ by: "user", parts: [{ text: QUESTION }, part] }] }
}

export async function imageIn(cell: MatrixCell): Promise<void> {
  for (const stream of [false, true]) {
    const { reply, received } = await cell.exchange(requestWith({ image: PICTURE }), { answer: DONE, stream })
    cell.seen("text", reply.text).is("I see a dot.")
    cell.seen("images at the upstream", mediaIn(received, "image")).is([PICTURE])
    cell.seen("text next to it", textsIn(received)).is([["user", QUESTION]])
  }
}

export async function documentIn(cell: MatrixCell): Promise<void> {
  const asking = requestWith({ document: DOCUMENT })
  const { reply, received } = await cell.exchange(asking, { answer: DONE, stream: false, mayLose: true })
  const { mediaType, base64 } = DOCUMENT
  cell.seen("text", reply.text).is("I see a dot.")
  cell.seen("documents at the upstream", mediaIn(received, "document")).is([{ mediaType, base64 }])
  cell.seen("text next to it", textsIn(received)).is([["user", QUESTION]])
}

const FORMAT = {
  name: "verdict",
  schema: {
    type: "object",
    properties: {
      verdict: { type: "string", enum: ["yes", "no"] },
      reasons: { type: "array", items: { type: "string" } },
      place: {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false,
      },
    },
    required: ["verdict", "reasons", "place"],
    additionalProperties: false,
  },
}
const VERDICT = { verdict: "yes", reasons: ["because", "ü"], place: { city: "Köln" } }

export async function jsonSchema(cell: MatrixCell): Promise<void> {
  for (const stream of [false, true]) {
    const answer: ScriptedAnswer = { parts: [{ text: JSON.stringify(VERDICT) }], finish: "stop" }
    const asking = { ...requestOf("Is it so?"), format: FORMAT }
    const { reply, received } = await cell.exchange(asking, { answer, stream, mayLose: true })
    cell.seen("text", reply.text).is(JSON.stringify(VERDICT))
    cell.ended(reply, "stop")
    cell.seen("schema at the upstream", essence(received.schema)).is(essence(FORMAT.schema))
  }
}

const THOUGHT = "The user wants to know. Let me think about it at length."
/** With characters that a careless hand would escape or cut. */
const SEAL = "EqQBCkYIBxgCKkD+/x9Zf0+seal/AAECAwQFBgcICQ=="
const HARD_BUDGET = 24_576

export async function reasoning(cell: MatrixCell): Promise<void> {
  for (const stream of [false, true]) {
    const answer: ScriptedAnswer = { parts: [{ reasoning: THOUGHT, seal: SEAL }, { text: "42." }], finish: "stop" }
    const asking: MatrixRequest = { ...requestOf("What is the answer?"), thinkHard: true }
    const { reply, received } = await cell.exchange(asking, { answer, stream, mayLose: true })
    cell.seen("reasoning", reply.reasoning).is(THOUGHT)
    cell.seen("text", reply.text).is("42.")
    cell.ended(reply, "stop")
    const { effort, budgetTokens } = received
    if (effort !== "high" && budgetTokens !== HARD_BUDGET) {
      cell.problem("how hard to think", { expected: `high, or ${HARD_BUDGET} tokens`, seen: { effort, budgetTokens } })
    }
  }
}

export async function reasoningOverTurns(cell: MatrixCell): Promise<void> {
  const asking: MatrixRequest = { ...requestOf("How is the weather in Köln?"), tools: [WEATHER], thinkHard: true }
  for (const stream of [false, true]) {
    const seal = stream ? `streamed${SEAL}` : SEAL
    const call = { ...CALL, id: stream ? "call_streamed1" : CALL.id }
    const answer: ScriptedAnswer = { parts: [{ reasoning: THOUGHT, seal }, { call }], finish: "tool-calls" }
    const first = await cell.exchange(asking, { answer, stream, mayLose: true })
    cell.seen("reasoning", first.reply.reasoning).is(THOUGHT)
    cell.seen("calls", first.reply.calls.length).is(1)
    const [seen = call] = first.reply.calls
    const second = goneOn(asking, { ...first, results: [{ call: seen, text: "12 °C" }] })
    const { reply, received } = await cell.exchange(second, { answer: DONE, stream, mayLose: true })
    cell.seen("text after the result", reply.text).is("I see a dot.")
    cell
      .seen(
        "results",
        resultsIn(received).map(({ text, of }) => [text, of?.name]),
      )
      .is([["12 °C", CALL.name]])
    // Chat completions has no seals; the thoughts are not required back.
    if (cell.name.upstream !== "openai-chat") cell.seen("seals at their maker", sealsIn(received)).is([seal])
  }
}

/** Gemini signs its last text: after it, where other protocols have no member for a seal. */
export async function sealsBehindText(cell: MatrixCell): Promise<void> {
  for (const stream of [false, true]) {
    const seal = stream ? `streamed${SEAL}` : SEAL
    const asking: MatrixRequest = { ...requestOf(stream ? "Tell me." : "And so?"), thinkHard: true }
    const answer: ScriptedAnswer = { parts: [{ reasoning: THOUGHT, seal }, { text: "42, of course." }], finish: "stop" }
    const { reply } = await cell.exchange(asking, { answer, stream, mayLose: true })
    cell.seen("text", reply.text).is("42, of course.")
    cell.ended(reply, "stop")
    const more = { by: "user", parts: [{ text: "Why?" }] } as const
    const second: MatrixRequest = { ...asking, turns: [...asking.turns, { by: "assistant", echo: reply.echo }, more] }
    const { received, reply: last } = await cell.exchange(second, { answer: DONE, stream, mayLose: true })
    cell.seen("text of the second turn", last.text).is("I see a dot.")
    if (cell.name.upstream === "gemini-generate") cell.seen("seals at their maker", sealsIn(received)).is([seal])
  }
}

export async function cacheMarks(cell: MatrixCell): Promise<void> {
  const { client, upstream } = cell.name
  const asking: MatrixRequest = { ...requestOf(QUESTION), cached: true }
  const { reply, received } = await cell.exchange(asking, { answer: DONE, stream: false, mayLose: true })
  cell.seen("text", reply.text).is("I see a dot.")
  const marks = client === "anthropic-messages"
  const takesMarks = upstream === "anthropic-messages" || upstream === "bedrock-converse"
  const takesKeys = upstream === "openai-chat" || upstream === "openai-responses"
  if (marks && takesMarks) cell.seen("marked at the upstream", received.marked).is([INSTRUCTIONS, QUESTION])
  // A gateway may salt it per tenant, as long as there is one.
  else if (!marks && takesKeys) cell.seen("whether a key reaches the upstream", Boolean(received.cacheKey)).is(true)
  else {
    cell.lost(marks ? "the marks" : "the key", { reply, as: /cache/i })
    cell.note("The upstream has no such mark or key; it is left out, and `x-gateway-losses` names it.")
  }
}
