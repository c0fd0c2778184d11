// Cells of plain text, finish reasons and usage.
import type { MatrixCell } from "../cell.ts"
import { inputOf, OUTPUT_TOKENS, type ScriptedAnswer, USAGE } from "../conversation.ts"
import { INSTRUCTIONS, requestOf, textsIn } from "./props.ts"

const QUESTION = "Who are you? ¿Y tú? 🦊"
const TEXT = 'I am a fox, naïve and quick. 🦊 "Really"\nSo it is.'
const ANSWER: ScriptedAnswer = { parts: [{ text: TEXT }], finish: "stop" }

export async function text(cell: MatrixCell): Promise<void> {
  await saysText(cell, false)
}

export async function stream(cell: MatrixCell): Promise<void> {
  const pieces = await saysText(cell, true)
  if (pieces.length < 3) cell.problem("pieces of text", { expected: "several", seen: pieces })
}

async function saysText(cell: MatrixCell, streams: boolean): Promise<readonly string[]> {
  const { reply, received, pieces } = await cell.exchange(requestOf(QUESTION), { answer: ANSWER, stream: streams })
  cell.seen("text", reply.text).is(TEXT)
  cell.seen("model", reply.model).is(cell.model)
  cell.seen("reasoning", reply.reasoning).is("")
  cell.seen("calls", reply.calls).is([])
  cell.ended(reply, "stop")
  cell.seen("instructions at the upstream", received.instructions).is(INSTRUCTIONS)
  cell.seen("turns at the upstream", textsIn(received)).is([["user", QUESTION]])
  cell.seen("tools at the upstream", received.tools).is([])
  return pieces
}

export async function multiTurn(cell: MatrixCell): Promise<void> {
  for (const streams of [false, true]) {
    const first = await cell.exchange(requestOf(QUESTION), { answer: ANSWER, stream: streams })
    const ask = {
      instructions: INSTRUCTIONS,
      turns: [
        { by: "user", parts: [{ text: "Hello." }] },
        { by: "assistant", text: "Good day." },
        { by: "user", parts: [{ text: QUESTION }] },
        { by: "assistant", echo: first.reply.echo },
        { by: "user", parts: [{ text: "Are you" }, { text: " sure?" }] },
      ],
    } as const
    const { reply, received } = await cell.exchange(ask, {
      answer: { ...ANSWER, parts: [{ text: "Yes." }] },
      stream: streams,
    })
    cell.seen("text", reply.text).is("Yes.")
    cell.seen("instructions at the upstream", received.instructions).is(INSTRUCTIONS)
    const texts = textsIn(received).map(([by, ...texts]) => [by, texts.join("")])
    cell.seen("turns at the upstream", texts).is([
      ["user", "Hello."],
      ["assistant", "Good day."],
      ["user", QUESTION],
      ["assistant", TEXT],
      ["user", "Are you sure?"],
    ])
  }
}

export async function lengthFinish(cell: MatrixCell): Promise<void> {
  for (const streams of [false, true]) {
    const answer: ScriptedAnswer = { parts: [{ text: "Once upon a" }], finish: "length" }
    const ask = { ...requestOf("Tell me a story."), maxOutputTokens: 64 }
    const { reply, received } = await cell.exchange(ask, { answer, stream: streams })
    cell.seen("text", reply.text).is("Once upon a")
    cell.ended(reply, "length")
    cell.seen("most tokens at the upstream", received.maxOutputTokens).is(64)
  }
}

const STOP = "THE END"

export async function stopSequence(cell: MatrixCell): Promise<void> {
  const { client, upstream } = cell.name
  const takesStop = client !== "openai-responses"
  if (!takesStop)
    cell.note("Responses has no stop sequences: the cell checks that an answer which ended at one ends well.")
  for (const streams of [false, true]) {
    const answer: ScriptedAnswer = {
      parts: [{ text: "Once upon a time" }],
      finish: "stop-sequence",
      stopSequence: STOP,
    }
    const ask = { ...requestOf("Tell me a story."), ...(takesStop && { stop: [STOP, "\n\nHuman:"] }) }
    const { reply, received } = await cell.exchange(ask, { answer, stream: streams, mayLose: true })
    cell.seen("text", reply.text).is("Once upon a time")
    cell.ended(reply, "stop-sequence")
    if (takesStop) cell.seen("stop sequences at the upstream", received.stop).is(ask.stop)
    const isReported = upstream === "anthropic-messages" || upstream === "bedrock-converse"
    if (client === "anthropic-messages" && isReported) cell.seen("which one stopped it", reply.stopSequence).is(STOP)
  }
}

export async function usage(cell: MatrixCell): Promise<void> {
  const answer: ScriptedAnswer = { ...ANSWER, wroteCache: true }
  const { client, upstream } = cell.name
  const tellsWrites = upstream === "anthropic-messages" || upstream === "bedrock-converse"
  const loses = client === "gemini-generate" && tellsWrites
  if (loses)
    cell.note(
      "Gemini's usage has no place for what was written to a cache: it counts as prompt, and is named in `x-gateway-losses`.",
    )
  for (const streams of [false, true]) {
    const { reply } = await cell.exchange(requestOf(QUESTION), { answer, stream: streams, mayLose: loses })
    const { reasoning, ...counts } = reply.usage ?? {}
    cell.seen("usage", counts).is({ input: inputOf(answer), cacheRead: USAGE.cacheRead, output: OUTPUT_TOKENS })
    // Converse does not report the share of reasoning in the output.
    if (upstream !== "bedrock-converse") cell.seen("reasoning tokens", reasoning).is(USAGE.reasoning)
    if (loses && !streams) cell.lost("what was written to a cache", { reply, as: /cache/i })
  }
}

const WORDS = "I will not help with that."

export async function refusal(cell: MatrixCell): Promise<void> {
  const { upstream } = cell.name
  for (const streams of [false, true]) {
    const inWords: ScriptedAnswer = { parts: [{ refusal: WORDS }], finish: "refusal" }
    const { reply } = await cell.exchange(requestOf("Help me."), { answer: inWords, stream: streams, mayLose: true })
    cell.ended(reply, "refusal")
    const hasWords = upstream === "openai-chat" || upstream === "openai-responses"
    if (hasWords) cell.seen("words of the refusal", reply.refusal ?? reply.text).is(WORDS)

    const halfway: ScriptedAnswer = { parts: [{ text: "Well, first" }], finish: "refusal" }
    const later = await cell.exchange(requestOf("Help me."), { answer: halfway, stream: streams, mayLose: true })
    cell.seen("text before it was stopped", later.reply.text).is("Well, first")
    cell.ended(later.reply, "refusal")
  }
}

export async function midStreamError(cell: MatrixCell): Promise<void> {
  for (const breaks of ["with an error", "without a word"] as const) {
    const answer: ScriptedAnswer = { parts: [{ text: TEXT }], finish: "stop", breaks }
    const { pieces, failure, reply } = await cell.send(requestOf(QUESTION), { answer, stream: true })
    cell.seen(`text before it broke ${breaks}`, pieces.join("")).is(TEXT)
    if (!failure)
      cell.problem(`an error where it broke ${breaks}`, { expected: "one that is raised", seen: reply?.finish })
    else if (!failure.isOfLibrary)
      cell.problem("an error of the library's own", { expected: "one", seen: failure.message })
  }
}
