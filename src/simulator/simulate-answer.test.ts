import { describe, expect, test } from "bun:test"
import { PromptCache } from "./prompt-cache.ts"
import { simulate } from "./simulate-answer.ts"
import type { SimulatedRequest } from "./simulated-request.ts"
import { clockTool, weatherInput, weatherTool, words } from "./simulator.fixture.ts"
import { countTokens, tokenize } from "./tokens.ts"

function ask(wish: Partial<SimulatedRequest> = {}) {
  const { lastWords = "Hello there" } = wish
  const request: SimulatedRequest = {
    model: "acme/one",
    prompt: [{ text: lastWords }],
    lastWords,
    toolResults: [],
    tools: [],
    toolChoice: { mode: "auto" },
    parallelToolCalls: true,
    stop: [],
    count: 1,
    reasoning: false,
    ...wish,
  }
  const answer = simulate(request, { id: "1", cache: new PromptCache(), caching: "implicit" })
  const [first] = answer.candidates
  if (!first) throw new Error("no candidate")
  return { ...answer, first, text: first.text.join("") }
}

const tools = [weatherTool, clockTool]
const called = (wish: Partial<SimulatedRequest>) => ask({ tools, ...wish }).first.calls.map(({ name }) => name)

test("the joined tokens of a text are the text", () => {
  for (const text of [
    "",
    " ",
    "one two",
    "  a\n\nb  ",
    "x".repeat(50),
    "日本語のとても長い文章を書きましたよ。",
    "😀".repeat(20),
  ]) {
    expect(tokenize(text).join("")).toBe(text)
    expect(countTokens(text)).toBe(tokenize(text).length)
  }
})

describe("text", () => {
  test("the simulated text names the simulator, the simulated model and the prompt", () => {
    expect(ask().text).toBe(
      'This is Trivium\'s simulator answering in place of acme/one. You said: "Hello there". No provider was called and ' +
        "none bills this; configure a provider credential to reach the real model.",
    )
    expect(ask().first.finish).toBe("stop")
  })

  test("equal requests get equal text, and different requests different text", () => {
    expect(ask()).toEqual(ask())
    expect(ask({ lastWords: "Bye" }).seed).not.toBe(ask().seed)
  })

  test("text is cut at the token limit", () => {
    const { first, usage } = ask({ maxOutputTokens: 5 })
    expect(first).toMatchObject({ text: ["This", " is", " Trivium's", " simulator", " answering"], finish: "length" })
    expect(usage.output).toBe(5)
  })

  test("text has the number of words that the prompt requests", () => {
    const { text, first } = ask({ lastWords: "Write 500 words about roads", maxOutputTokens: 4000 })
    expect(text.split(/\s+/)).toHaveLength(500)
    expect(first.finish).toBe("stop")
    expect(ask({ lastWords: "Write 500 words about roads", maxOutputTokens: 100 }).first.finish).toBe("length")
  })

  test("text ends before the first stop sequence, and the answer names it", () => {
    const { text, first, usage } = ask({ stop: ["nothing", "simulator"] })
    expect(text).toBe("This is Trivium's ")
    expect(first).toMatchObject({ finish: "stop-sequence", stopSequence: "simulator" })
    expect(usage.output).toBe(countTokens(text))
  })

  test("several candidates are counted and numbered in their text", () => {
    const { candidates, usage } = ask({ count: 3 })
    const texts = candidates.map(({ text }) => text.join(""))
    expect(new Set(texts).size).toBe(3)
    expect(usage.output).toBe(texts.reduce((total, text) => total + countTokens(text), 0))
  })

  test("text mentions the images of the prompt", () => {
    const prompt = [{ text: "Look" }, { text: "data:image/png;base64,AAAA", isImage: true as const }]
    expect(ask({ prompt }).text).toContain("You showed an image.")
  })

  test("a long prompt is quoted only in part", () => {
    expect(ask({ lastWords: "😀".repeat(5000) }).text.length).toBeLessThan(500)
  })
})

describe("reasoning", () => {
  test("reasoning comes only on request, and is counted separately", () => {
    expect(ask().usage.reasoning).toBe(0)
    const { first, usage } = ask({ reasoning: true })
    expect(first.reasoning.join("")).toContain("Hello there")
    expect(usage.reasoning).toBe(first.reasoning.length)
    expect(usage.output).toBe(first.text.length)
  })

  test("reasoning counts against the limit, and may use it up", () => {
    const thoughts = ask({ reasoning: true }).first.reasoning.length
    const cut = ask({ reasoning: true, maxOutputTokens: thoughts + 2 }).first
    expect(cut).toMatchObject({ text: ["This", " is"], finish: "length" })
    expect(ask({ reasoning: true, maxOutputTokens: thoughts }).first).toMatchObject({ text: [], finish: "length" })
    expect(ask({ reasoning: true, maxOutputTokens: 3 }).usage).toMatchObject({ reasoning: 3, output: 0 })
  })
})

describe("tools", () => {
  test("a tool is called if the prompt matches its name, words of its name, or its description", () => {
    expect(called({ lastWords: "Please use get_weather" })).toEqual(["get_weather"])
    expect(called({ lastWords: "How is the weather in Paris?" })).toEqual(["get_weather"])
    expect(called({ lastWords: "What is the current city?" })).toEqual(["get_weather"])
    expect(called({ lastWords: "Tell me a joke" })).toEqual([])
  })

  test("tools are called with input that satisfies their schema", () => {
    const { first, usage } = ask({ tools, lastWords: "weather?" })
    expect(first).toMatchObject({ text: [], finish: "tool-calls" })
    expect(first.calls[0]?.input).toEqual(weatherInput)
    expect(JSON.parse(first.calls[0]?.tokens.join("") ?? "")).toEqual(weatherInput)
    expect(usage.output).toBe(1 + (first.calls[0]?.tokens.length ?? 0))
  })

  test("several tools are called in parallel, unless only one is allowed", () => {
    const lastWords = "The weather, and what the clock says"
    expect(called({ lastWords })).toEqual(["get_weather", "read_clock"])
    expect(called({ lastWords, parallelToolCalls: false })).toEqual(["get_weather"])
  })

  test("a required tool call is made, and a forbidden one is not", () => {
    expect(called({ toolChoice: { mode: "required" } })).toEqual(["get_weather"])
    expect(called({ toolChoice: { mode: "required" }, lastWords: "clock" })).toEqual(["read_clock"])
    expect(called({ toolChoice: { mode: "required", only: ["read_clock"] }, lastWords: "weather" })).toEqual([
      "read_clock",
    ])
    expect(called({ toolChoice: { mode: "auto", only: ["read_clock"] }, lastWords: "weather" })).toEqual([])
    expect(called({ toolChoice: { mode: "none" }, lastWords: "weather" })).toEqual([])
  })

  test("tool results are quoted in the text", () => {
    const { first, text } = ask({ tools, lastWords: "weather?", toolResults: ["18 degrees"] })
    expect(first.calls).toEqual([])
    expect(text).toContain('The tool answered: "18 degrees".')
  })

  test("a tool call that exceeds the limit is not made", () => {
    expect(ask({ tools, lastWords: "weather?", maxOutputTokens: 2 }).first).toMatchObject({
      calls: [],
      finish: "length",
    })
  })
})

describe("JSON", () => {
  test("a JSON answer satisfies its schema", () => {
    expect(JSON.parse(ask({ format: { schema: weatherTool.schema } }).text)).toEqual(weatherInput)
  })

  test("a JSON answer without a schema is an object", () => {
    expect(JSON.parse(ask({ format: {} }).text).message).toContain("Hello there")
  })

  test("a JSON answer is cut at the limit like any text", () => {
    expect(ask({ format: { schema: weatherTool.schema }, maxOutputTokens: 1 }).first.finish).toBe("length")
  })
})

describe("the prompt cache", () => {
  const cache = () => new PromptCache()

  test("the prompt cache writes marked content, then reads it", () => {
    const promptCache = cache()
    const pieces = [{ text: words(50), mark: "short" as const }, { text: words(7) }]
    expect(promptCache.marked("m", pieces)).toEqual({ fresh: 7, read: 0, written: 50, writtenLong: 0 })
    expect(promptCache.marked("m", pieces)).toEqual({ fresh: 7, read: 50, written: 0, writtenLong: 0 })
    expect(promptCache.marked("other", pieces).read).toBe(0)
  })

  test("the prompt cache reads up to an earlier mark and writes the rest, by its lifetime", () => {
    const promptCache = cache()
    const [one, two, three] = [{ text: words(10) }, { text: words(20) }, { text: words(5) }]
    promptCache.marked("m", [{ ...one, mark: "long" }])
    expect(promptCache.marked("m", [one, { ...two, mark: "long" }, { ...three, mark: "short" }, one])).toEqual({
      fresh: 10,
      read: 10,
      written: 5,
      writtenLong: 20,
    })
    expect(promptCache.marked("m", [three, { ...one, mark: "short" }]).read).toBe(0)
  })

  test("the prompt cache keeps long prompts implicitly, in steps of 128 from 1,024 tokens on", () => {
    const promptCache = cache()
    const long = [{ text: words(1000) }, { text: words(200) }]
    expect(promptCache.implicit("m", long)).toEqual({ fresh: 1200, read: 0, written: 0, writtenLong: 0 })
    expect(promptCache.implicit("m", long)).toEqual({ fresh: 48, read: 1152, written: 0, writtenLong: 0 })
    expect(promptCache.implicit("m", [...long, { text: words(300) }])).toMatchObject({ fresh: 348, read: 1152 })
    const short = [{ text: words(1023) }]
    promptCache.implicit("m", short)
    expect(promptCache.implicit("m", short).read).toBe(0)
  })

  test("the prompt cache distinguishes images", () => {
    const promptCache = cache()
    const shown = (data: string) => [{ text: data, isImage: true as const }, { text: words(2000) }]
    promptCache.implicit("m", shown("a"))
    expect(promptCache.implicit("m", shown("a")).read).toBeGreaterThan(1024)
    expect(promptCache.implicit("m", shown("b")).read).toBe(0)
  })

  test("the prompt cache evicts the least recently used prefix", () => {
    const promptCache = cache()
    const first = [{ text: "first", mark: "short" as const }]
    promptCache.marked("m", first)
    for (let at = 0; at < 5000; at++) promptCache.marked("m", [{ text: `other ${at}`, mark: "short" }])
    expect(promptCache.marked("m", first).read).toBe(0)
  })
})
