// Cells of features that only some protocols have: item references, search results and remote servers.
import type { MatrixCell } from "../cell.ts"
import type { MatrixRequest, RemoteCall, RemoteServer, ScriptedAnswer } from "../conversation.ts"
import { INSTRUCTIONS, requestOf, textsIn } from "./props.ts"

const DONE: ScriptedAnswer = { parts: [{ text: "Done." }], finish: "stop" }
const QUESTION = "What do foxes eat?"

/** Three turns, the earlier answers named by their ids alone: one that came whole, and one that was streamed. */
export async function itemReferences(cell: MatrixCell): Promise<void> {
  const first: MatrixRequest = { ...requestOf("hi"), byReference: true }
  const hello: ScriptedAnswer = { parts: [{ text: "Hello." }], finish: "stop" }
  const one = await cell.exchange(first, { answer: hello, stream: false, mayLose: true })
  const second: MatrixRequest = {
    ...first,
    turns: [...first.turns, { by: "assistant", echo: one.reply.echo }, { by: "user", parts: [{ text: "and?" }] }],
  }
  const two = await cell.exchange(second, { answer: DONE, stream: true, mayLose: true })
  const third: MatrixRequest = {
    ...first,
    turns: [...second.turns, { by: "assistant", echo: two.reply.echo }, { by: "user", parts: [{ text: "so?" }] }],
  }
  const { reply, received } = await cell.exchange(third, { answer: DONE, stream: false, mayLose: true })
  cell.seen("text", reply.text).is("Done.")
  cell.seen("texts at the upstream", textsIn(received)).is([
    ["user", "hi"],
    ["assistant", "Hello."],
    ["user", "and?"],
    ["assistant", "Done."],
    ["user", "so?"],
  ])
}

const PASSAGE = { title: "Foxes", source: "https://kb.example/foxes", text: "Foxes are omnivores." }

export async function searchResults(cell: MatrixCell): Promise<void> {
  for (const stream of [false, true]) {
    const parts = [{ passage: PASSAGE }, { text: QUESTION }]
    const asking: MatrixRequest = { instructions: INSTRUCTIONS, turns: [{ by: "user", parts }] }
    const { reply, received } = await cell.exchange(asking, { answer: DONE, stream })
    cell.seen("text", reply.text).is("Done.")
    const content = received.turns.flatMap((turn) => turn.parts)
    const [passage] = content
    if (cell.isRelayed) cell.seen("passage", passage).is({ kind: "passage", ...PASSAGE })
    else
      for (const words of Object.values(PASSAGE)) {
        const isThere = content.some((part) => part.kind === "text" && part.text.includes(words))
        cell.seen(`whether the upstream receives ${words}`, isThere).is(true)
      }
  }
}

const SERVER: RemoteServer = { label: "wiki", url: "https://wiki.example/mcp", token: "tok", allowed: ["look_up"] }
const LOOKED_UP: RemoteCall = {
  ...{ server: "wiki", name: "look_up", arguments: { word: "fox" } },
  output: "Foxes are omnivores.",
}
const WITH_SERVERS = ["openai-responses", "anthropic-messages"]

export async function remoteServers(cell: MatrixCell): Promise<void> {
  const hasServers = WITH_SERVERS.includes(cell.name.upstream)
  const called: ScriptedAnswer = { parts: [{ remote: LOOKED_UP }, { text: "Done." }], finish: "stop" }
  for (const stream of [false, true]) {
    const asking: MatrixRequest = { ...requestOf(QUESTION), server: SERVER }
    const { reply, received } = await cell.exchange(asking, {
      answer: hasServers ? called : DONE,
      stream,
      mayLose: true,
    })
    cell.seen("text", reply.text).is("Done.")
    if (hasServers) {
      cell.seen("servers at the upstream", received.servers).is([SERVER])
      cell.seen("calls at the server", reply.remoteCalls).is([LOOKED_UP])
    } else {
      cell.lost("the server", { reply, as: /tools|mcp/ })
      cell.note("The upstream calls no remote servers; the server is left out, and `x-gateway-losses` names it.")
    }
  }
}
