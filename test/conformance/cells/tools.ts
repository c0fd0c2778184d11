// Cells of tools: definitions, calls, forced calls and results.
import type { ExchangeResult, MatrixCell } from "../cell.ts"
import {
  type ClientReply,
  type MatrixRequest,
  type MatrixToolCall,
  type ScriptedAnswer,
  type ToolResultInput,
  UNSEEN_SEAL,
} from "../conversation.ts"
import {
  CALL,
  callsIn,
  INSTRUCTIONS,
  mediaIn,
  PICTURE,
  requestOf,
  resultsIn,
  sealsIn,
  TIME,
  toolEssence,
  WEATHER,
} from "./props.ts"

const TOOLS = [WEATHER, TIME]
const ASK: MatrixRequest = { ...requestOf("How is the weather in Köln?"), tools: TOOLS }
const CALLS: ScriptedAnswer = { parts: [{ text: "Let me see." }, { call: CALL }], finish: "tool-calls" }
const DONE: ScriptedAnswer = { parts: [{ text: "It is mild." }], finish: "stop" }
/** The vendor gives calls no ids, so there are none to keep. */
const WITHOUT_IDS = "gemini-generate"

interface GoingOn {
  readonly reply: ClientReply
  readonly results: readonly ToolResultInput[]
}

/** The next request of a client's user after an answer that called tools. */
export function goneOn({ turns, ...ask }: MatrixRequest, { reply, results }: GoingOn): MatrixRequest {
  return { ...ask, turns: [...turns, { by: "assistant", echo: reply.echo }, { by: "tools", results }] }
}

export async function tools(cell: MatrixCell): Promise<void> {
  for (const stream of [false, true]) {
    const first = await cell.exchange(ASK, { answer: CALLS, stream })
    cell.seen("text before the call", first.reply.text).is("Let me see.")
    cell.ended(first.reply, "tool-calls")
    checkCalls(cell, first, [CALL])
    cell.seen("tools at the upstream", first.received.tools.map(toolEssence)).is(TOOLS.map(toolEssence))
    cell.seen("choice of tools at the upstream", first.received.choice).is("auto")
    const [call = CALL] = first.reply.calls
    const second = goneOn(ASK, { ...first, results: [{ call, text: "12 °C" }] })
    const { reply, received } = await cell.exchange(second, { answer: DONE, stream })
    cell.seen("text after the result", reply.text).is("It is mild.")
    cell
      .seen(
        "turns at the upstream",
        received.turns.map(({ by }) => by),
      )
      .is(["user", "assistant", "user"])
    cell.seen("instructions at the upstream", received.instructions).is(INSTRUCTIONS)
    checkHistory(cell, received, [CALL])
    const results = resultsIn(received).map(({ text, failed, of }) => ({ text, failed, of: of && withoutId(of) }))
    cell.seen("results at the upstream", results).is([{ text: "12 °C", failed: false, of: withoutId(CALL) }])
  }
}

/** Calls came to the client with their arguments, and with ids to answer them by. */
function checkCalls(cell: MatrixCell, { reply }: ExchangeResult, expected: readonly MatrixToolCall[]): void {
  cell.seen("calls", reply.calls.map(withoutId)).is(expected.map(withoutId))
  const ids = new Set(reply.calls.map(({ id }) => id))
  const mayLack = cell.name.client === WITHOUT_IDS && cell.name.upstream === WITHOUT_IDS
  if (!mayLack && (ids.has("") || ids.size < expected.length))
    cell.problem("ids of calls", { expected: "one each", seen: [...ids] })
}

/** The calls return to the model under their original ids. */
function checkHistory(
  cell: MatrixCell,
  received: ExchangeResult["received"],
  expected: readonly MatrixToolCall[],
): void {
  const seen = callsIn(received)
  if (cell.name.upstream === WITHOUT_IDS) {
    cell.seen("signatures in the history", sealsIn(received)).is([UNSEEN_SEAL])
    cell.seen("calls in the history", seen.map(withoutId)).is(expected.map(withoutId))
  } else cell.seen("calls in the history", seen).is(expected)
}

function withoutId({ name, arguments: input }: MatrixToolCall): Omit<MatrixToolCall, "id"> {
  return { name, arguments: input }
}

const THREE: readonly MatrixToolCall[] = [
  CALL,
  { id: "call_e5F6g7H8", name: "get_weather", arguments: { city: "Roma" } },
  { id: "call_i9J0k1L2", name: "get_time", arguments: { city: "Oslo" } },
]
const RESULTS = ["12 °C", "24 °C", "noon"]

export async function parallelTools(cell: MatrixCell): Promise<void> {
  for (const stream of [false, true]) {
    const answer: ScriptedAnswer = { parts: THREE.map((call) => ({ call })), finish: "tool-calls" }
    const first = await cell.exchange(ASK, { answer, stream })
    checkCalls(cell, first, THREE)
    cell.ended(first.reply, "tool-calls")
    const results = first.reply.calls.map((call, index) => ({ call, text: RESULTS[index] ?? "" }))
    // In another order, so that the position alone does not identify them.
    const last = results.slice(-1)
    const second = goneOn(ASK, { ...first, results: [...last, ...results.slice(0, -1)] })
    const { reply, received } = await cell.exchange(second, { answer: DONE, stream })
    cell.seen("text after the results", reply.text).is("It is mild.")
    checkHistory(cell, received, THREE)
    const byText = (text: string) => resultsIn(received).find((result) => result.text === text)?.of
    const attached = RESULTS.map((text) => byText(text)).map((call) => call && withoutId(call))
    cell.seen("calls that the results are attached to", attached).is(THREE.map(withoutId))
    cell
      .seen(
        "turns at the upstream",
        received.turns.map(({ by }) => by),
      )
      .is(["user", "assistant", "user"])
  }
}

export async function forcedTool(cell: MatrixCell): Promise<void> {
  for (const stream of [false, true]) {
    const answer: ScriptedAnswer = { parts: [{ call: CALL }], finish: "tool-calls" }
    const exchanged = await cell.exchange({ ...ASK, forcedTool: CALL.name }, { answer, stream })
    cell.seen("choice of tools at the upstream", exchanged.received.choice).is({ tool: CALL.name })
    checkCalls(cell, exchanged, [CALL])
  }
}

async function resultArrives(cell: MatrixCell, result: Omit<ToolResultInput, "call">): Promise<ExchangeResult> {
  const first = await cell.exchange(ASK, { answer: CALLS, stream: false })
  const [call = CALL] = first.reply.calls
  const exchanged = await cell.exchange(goneOn(ASK, { ...first, results: [{ call, ...result }] }), {
    answer: DONE,
    stream: false,
    mayLose: true,
  })
  const [seen] = resultsIn(exchanged.received)
  cell.seen("call that the result is attached to", seen?.of && withoutId(seen.of)).is(withoutId(CALL))
  if (!seen?.text.includes(result.text)) cell.problem("text of the result", { expected: result.text, seen: seen?.text })
  return exchanged
}

export async function toolResultWithImage(cell: MatrixCell): Promise<void> {
  const { received, reply } = await resultArrives(cell, { text: "A photograph:", image: PICTURE })
  const [result] = resultsIn(received)
  if (result?.images.length) cell.seen("images in the result", result.images).is([PICTURE])
  else {
    cell.seen("images after the result", mediaIn(received, "image")).is([PICTURE])
    cell.lost("the image's place", { reply, as: /./ })
    cell.note("The image follows the result in a message of the user, and `x-gateway-losses` says so.")
  }
}

export async function toolError(cell: MatrixCell): Promise<void> {
  const { received, reply } = await resultArrives(cell, { text: "The service is down.", failed: true })
  const [result] = resultsIn(received)
  const hasFlag = cell.name.client === "anthropic-messages" || cell.name.client === "gemini-generate"
  if (!hasFlag) cell.note("OpenAI's protocols say in the text alone that a tool failed.")
  else if (!result?.failed) {
    cell.lost("the mark of an error", { reply, as: /./ })
    cell.note("The text of the result states that the tool failed, and `x-gateway-losses` reports it.")
  }
}
