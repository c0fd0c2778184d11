// The text of simulated answers: it names the simulator, quotes the prompt, and fills up to the requested word count.
import type { SimulatedRequest } from "./simulated-request.ts"

const MAX_QUOTED = 200
/** Shared by all candidates of one request. */
const MAX_WORDS = 20_000
const WORD_COUNT = /\b(\d{1,7})[\s-]+words?\b/i
const FILLER =
  "What follows only fills the length that was asked for. A gateway stands where roads meet, and whoever comes by any of " +
  "them is understood. It reads what was said, finds who can answer, and passes the answer on as it came. It keeps count, " +
  "it keeps secrets, and it keeps out of the way. When one road is closed it takes another, and says so."

/** Candidates after the first include their number, which distinguishes them. */
export function answerText(request: SimulatedRequest, index: number): string {
  const { model, lastWords, count } = request
  const text =
    `This is Trivium's simulator answering in place of ${model}. ${quotePrompt(request)} ` +
    "No provider was called and none bills this; configure a provider credential to reach the real model." +
    (index > 0 ? ` This is answer ${index + 1} of ${count}.` : "")
  const wordCount = Number(WORD_COUNT.exec(lastWords)?.[1] ?? 0)
  return fillToLength(text, Math.min(wordCount, Math.floor(MAX_WORDS / count)))
}

export function reasoningText({ model, lastWords }: SimulatedRequest): string {
  return (
    `The request is for ${model}, and I am the simulator that stands in for it. ` +
    `The last words were: "${quoteText(lastWords)}". I need nobody else to answer that.`
  )
}

function quotePrompt({ lastWords, toolResults, prompt }: SimulatedRequest): string {
  const images = prompt.filter(({ isImage }) => isImage).length
  const shown = images === 0 ? "" : ` You showed ${images === 1 ? "an image" : `${images} images`}.`
  if (toolResults.length === 0) return `You said: "${quoteText(lastWords)}".${shown}`
  const results = toolResults.map((result) => `"${quoteText(result)}"`).join(" and ")
  return `${toolResults.length === 1 ? "The tool" : "The tools"} answered: ${results}.${shown}`
}

function quoteText(text: string): string {
  if (text.length <= MAX_QUOTED) return text
  // A lone surrogate is not text.
  return `${text.slice(0, MAX_QUOTED).replace(/[\uD800-\uDBFF]$/, "")}…`
}

function fillToLength(text: string, wordCount: number): string {
  const words = text.split(/\s+/)
  if (words.length >= wordCount) return text
  const filler = FILLER.split(" ")
  const more = Array.from({ length: wordCount - words.length }, (_, at) => filler[at % filler.length])
  return `${text} ${more.join(" ")}`
}
