// Chooses the tools that the simulator calls: forced ones, and those whose name or description matches the prompt.
import type { SimulatedRequest, SimulatedTool } from "./simulated-request.ts"

/** Agents offer dozens of tools; a prompt that matches many of them should not call all of them. */
const MAX_CALLS = 3

/** Words that do not describe a tool's purpose. */
const STOP_WORDS = new Set(
  (
    "about after all also always and any are call called can could does each every fetch file find for from function " +
    "get given has have how into its list make need new not one only out please return returns run set should some tell " +
    "that the their them then there these they this tool use used user using value was what when where which who will " +
    "with word would write you your"
  ).split(" "),
)

export function toolsToCall(request: SimulatedRequest): readonly SimulatedTool[] {
  const { tools, toolChoice, toolResults, lastWords, parallelToolCalls } = request
  const { mode, only } = toolChoice
  const allowed = only ? tools.filter(({ name }) => only.includes(name)) : tools
  if (mode === "none") return []
  // After a tool result the client expects an answer.
  if (mode === "auto" && toolResults.length > 0) return []
  const fitting = fittingTools(allowed, lastWords)
  const chosen = fitting.length === 0 && mode === "required" ? allowed.slice(0, 1) : fitting
  return chosen.slice(0, parallelToolCalls ? MAX_CALLS : 1)
}

/** A tool that is named takes precedence over any description. */
function fittingTools(tools: readonly SimulatedTool[], lastWords: string): readonly SimulatedTool[] {
  const promptWords = wordsOf(lastWords)
  const spelled = new Set(lastWords.toLowerCase().split(/[^\p{L}\p{N}_-]+/u))
  const named = tools.filter(({ name }) => {
    return spelled.has(name.toLowerCase()) || significantWords(name).some((word) => promptWords.has(word))
  })
  return named.length > 0 ? named : tools.filter(({ description }) => isDescribed(description, promptWords))
}

/** True if two words of the description's first sentence match the prompt, or its only one. */
function isDescribed(description: string, promptWords: ReadonlySet<string>): boolean {
  const words = significantWords(description.split(/[.\n]/, 1)[0] ?? "").filter((word) => word.length > 3)
  const touched = words.filter((word) => promptWords.has(word)).length
  return touched > 0 && touched >= Math.min(2, words.length)
}

function significantWords(text: string): string[] {
  return [...wordsOf(text)].filter((word) => word.length > 2 && !STOP_WORDS.has(word))
}

/** Words in lower case, without the plural's s; a name in camel case is split. */
function wordsOf(text: string): Set<string> {
  const words =
    text
      .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
      .toLowerCase()
      .match(/\p{L}+/gu) ?? []
  return new Set(words.map((word) => (word.length > 4 ? word.replace(/s$/, "") : word)))
}
