// What the vendor's models of different generations take. Their names tell the generation.

export interface ModelGeneration {
  /** How hard to think is said in a word; before, as a number of tokens. */
  readonly thinksByLevel: boolean
  /** The least number of thinking tokens. */
  readonly leastBudget: number
  /** A call in the history must bear the signature it came with. */
  readonly demandsSignatures: boolean
  /** A tool's result may hold media. */
  readonly mediaInResults: boolean
  /** The vendor's own tools may stand beside functions. */
  readonly mixesTools: boolean
}

/** A name without a number is that of the newest. */
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
