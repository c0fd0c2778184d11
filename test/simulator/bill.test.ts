import { describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ChargeLog, type SimulatedCharge } from "../../src/simulator/simulated-charge.ts"
import { createSimulator } from "../../src/simulator/simulator.ts"
import { Abort } from "../../src/transport/abort.ts"
import { readStream, simulated } from "./simulated-call.ts"
import { SIMULATED_PROTOCOLS, type SimulatorQuestion } from "./simulated-protocols.ts"

/** A simulator and what it bills. */
function billed() {
  const log = new ChargeLog()
  return { send: createSimulator({ onCharge: log.add }), log, bills: () => log.charges }
}

/** The bill of a call with these words, after it was read to its end. */
async function bill(question: SimulatorQuestion, words?: string): Promise<readonly SimulatedCharge[]> {
  const { send, bills } = billed()
  const answer = await simulated(question, { send, ...(words !== undefined && { words }) }).catch(() => undefined)
  if (answer) await readStream(answer)
  return bills()
}

describe.each(SIMULATED_PROTOCOLS.map((each) => [each.name, each] as const))("%s", (_, protocol) => {
  const { stream, whole, usage, requestId } = protocol
  const [member, input, output] = usage

  test("a whole answer's bill is its usage, and is found by its id", async () => {
    const { send, bills } = billed()
    const response = await simulated(whole, { send })
    const answer = (await response.json()) as Record<string, Record<string, number>>
    expect(bills()).toEqual([
      {
        id: String(answer.id ?? answer.responseId),
        request_id: String(response.headers.get(requestId)),
        path: whole.path,
        model: "m",
        time: expect.stringMatching(/^\d{4}-.*Z$/) as unknown as string,
        input_tokens: Number(answer[member]?.[input]),
        output_tokens: Number(answer[member]?.[output]),
        ended: "complete",
      },
    ])
  })

  test("a stream's bill is that of the whole answer", async () => {
    const [first] = await bill(whole)
    const [second] = await bill(stream)
    expect(second).toMatchObject({
      input_tokens: first?.input_tokens,
      output_tokens: first?.output_tokens,
      ended: "complete",
    })
  })

  test("usage that lies is billed by the simulator's own count", async () => {
    const [sound] = await bill(stream)
    for (const fault of ["missing", "zero", "negative", "huge", "text", "twice", "after-end"]) {
      const [faulty] = await bill(stream, `usage-${fault}`)
      expect(faulty).toMatchObject({ output_tokens: sound?.output_tokens, input_tokens: sound?.input_tokens })
    }
  })

  test("a bill is written before the last byte leaves", async () => {
    const { send, bills } = billed()
    const reader = (await simulated(stream, { send })).body?.getReader()
    let last = ""
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      last = Buffer.from(read.value).toString()
      if (bills().length > 0) break
    }
    expect(last).toContain(protocol.terminal.trim())
    expect(bills()).toHaveLength(1)
  })

  test("a caller that leaves pays for what it has read", async () => {
    for (const how of ["cancel", "abort"] as const) {
      const { send, bills } = billed()
      const abort = new Abort()
      const reader = (await simulated(stream, { send, abort })).body?.getReader()
      // Google sends eight tokens at once.
      const reads = protocol.name.startsWith("gemini") ? 2 : 9
      for (let at = 0; at < reads; at++) await reader?.read()
      const [whole] = await bill(stream)
      if (how === "cancel") await reader?.cancel()
      else abort.abort(new Error("gone"))
      const [left] = bills()
      expect(left?.ended).toBe("client-gone")
      expect(left?.output_tokens).toBeWithin(3, Number(whole?.output_tokens))
      expect(bills()).toHaveLength(1)
    }
  })

  test("a caller that leaves before any output pays for the prompt", async () => {
    const { send, bills } = billed()
    const abort = new Abort()
    const answer = simulated(whole, { send, abort, words: "first-token-ms-5000" })
    abort.abort(new Error("gone"))
    await answer.catch(() => {})
    expect(bills()).toMatchObject([{ ended: "client-gone", input_tokens: 1, output_tokens: 0 }])
  })

  test("an answer that fails before any output is free", async () => {
    const words = ["status-503", "cut-before-headers", "reset-after-0", "error-after-0", "html", "garbage-after-0"]
    for (const word of words) expect(await bill(stream, word)).toEqual([])
  })

  test("a truncated answer costs the output sent so far", async () => {
    const [sound] = await bill(stream)
    for (const word of ["cut-after-8", "reset-after-8", "end-after-8", "error-after-8", "garbage-after-8"]) {
      const [broken] = await bill(stream, protocol.name.startsWith("gemini") ? word.replace("8", "2") : word)
      expect(broken?.ended).toBe("fault")
      expect(broken?.output_tokens).toBeWithin(1, Number(sound?.output_tokens))
    }
    // It was made whole before it was lost.
    expect(await bill(whole, "cut-after-1")).toMatchObject([{ ended: "fault", output_tokens: sound?.output_tokens }])
  })
})

test("every kind of answer adds up to its bill, streamed or not", async () => {
  const tools = [
    {
      name: "get_weather",
      description: "Weather.",
      input_schema: { type: "object", properties: { city: { type: "string" } } },
    },
  ]
  const messages = [{ role: "user", content: "weather?" }]
  const anthropic = { model: "m", max_tokens: 999, messages, stream: true }
  const chatTools = tools.map(({ input_schema: parameters, ...rest }) => ({
    type: "function",
    function: { ...rest, parameters },
  }))
  const responseTools = tools.map(({ input_schema: parameters, ...rest }) => ({
    type: "function",
    ...rest,
    parameters,
  }))
  const contents = [{ role: "user", parts: [{ text: "weather?" }] }]
  const questions: SimulatorQuestion[] = [
    { path: "/v1/messages", body: { ...anthropic, tools } },
    { path: "/v1/messages", body: { ...anthropic, thinking: { type: "enabled", budget_tokens: 1024 } } },
    { path: "/v1/messages", body: { ...anthropic, thinking: { type: "adaptive", display: "omitted" } } },
    { path: "/v1/chat/completions", body: { model: "m", messages, stream: true, tools: chatTools } },
    { path: "/v1/chat/completions", body: { model: "m", messages, stream: true, n: 3, reasoning_effort: "high" } },
    { path: "/v1/responses", body: { model: "m", input: "weather?", stream: true, tools: responseTools } },
    { path: "/v1/responses", body: { model: "m", input: "Hello", stream: true, reasoning: { effort: "high" } } },
    {
      path: "/v1/responses",
      body: { model: "m", input: "Hello", stream: true, reasoning: { effort: "high", summary: "auto" } },
    },
    {
      path: "/v1beta/models/m:streamGenerateContent",
      body: { contents, generationConfig: { candidateCount: 2, thinkingConfig: { includeThoughts: true } } },
    },
  ]
  for (const question of questions) {
    const [complete] = await bill(question)
    // A fault after the last event is billed by the events sent so far.
    const { chunks } = await readStream(await simulated(question))
    const [counted] = await bill(question, `reset-after-${chunks.length}`)
    expect(counted).toMatchObject({ ended: "fault", output_tokens: complete?.output_tokens })
    expect(complete?.output_tokens).toBeGreaterThan(0)
  }
})

test("free calls are not billed, and an answer without its own id is found by the request's", async () => {
  const messages = [{ role: "user", content: "Hello" }]
  expect(await bill({ path: "/v1/messages/count_tokens", body: { model: "m", messages } })).toEqual([])
  expect(await bill({ path: "/v1/nothing", body: {} })).toEqual([])
  const [embedded] = await bill({ path: "/v1/embeddings", body: { model: "m", input: "three words here" } })
  expect(embedded).toMatchObject({ input_tokens: 3, output_tokens: 0, ended: "complete" })
  expect(embedded?.id).toBe(embedded?.request_id)
  const [drawn] = await bill({ path: "/v1/images/generations", body: { model: "m", prompt: "a road", size: "64x64" } })
  expect(drawn).toMatchObject({ input_tokens: 2, output_tokens: 4, model: "m" })
})

test("the file has a line for each call, also across logs", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trivium-bill-"))
  const file = join(folder, "bill.jsonl")
  const [{ whole }] = SIMULATED_PROTOCOLS as [(typeof SIMULATED_PROTOCOLS)[number]]
  for (const seed of ["one", "two"]) {
    const send = createSimulator({ seed, onCharge: new ChargeLog({ file }).add })
    for (let at = 0; at < 3; at++) await simulated(whole, { send })
  }
  const lines = readFileSync(file, "utf8").trimEnd().split("\n")
  rmSync(folder, { recursive: true })
  expect(new Set(lines.map((line) => (JSON.parse(line) as SimulatedCharge).id)).size).toBe(6)
})

test("memory keeps the last bills, not all of them", () => {
  const log = new ChargeLog()
  const bill: SimulatedCharge = {
    id: "",
    request_id: "",
    path: "",
    model: "",
    time: "",
    input_tokens: 0,
    output_tokens: 0,
    ended: "complete",
  }
  for (let at = 0; at < 25_000; at++) log.add({ ...bill, id: String(at) })
  expect(log.charges).toHaveLength(10_000)
  expect(log.charges.at(-1)?.id).toBe("24999")
  expect(log.charges[0]?.id).toBe("15000")
})
