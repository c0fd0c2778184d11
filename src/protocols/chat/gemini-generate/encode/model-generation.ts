// The capabilities of the vendor's model generations, which their names reveal.

export interface ModelGeneration {
  /** True if reasoning is set by level; older models take a token budget. */
  readonly thinksByLevel: boolean
  /** The least number of thinking tokens. */
  readonly leastBudget: number
  /** A call in the conversation must have its signature. */
  readonly demandsSignatures: boolean
  /** A tool result may contain media. */
  readonly mediaInResults: boolean
  /** True if the vendor's own tools may be combined with functions. */
  readonly mixesTools: boolean
}

/** A name without a version is the newest model. */
export function generationOf(model: string): ModelGeneration {
  const [, number = "3"] = /gemini-(\d+)/.exec(model) ?? []
  const newer = Number(number) >= 3
  return {
    thinksByLevel: newer,
    leastBudget: /gemini-2\.5-pro/.test(model) ? 128 : 0,
    demandsSignatures: newer && /gemini/.test(model),
    mediaInResults: newer,
    mixesTools: newer,
  }
}
