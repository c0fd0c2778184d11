// Deterministic embeddings: texts that share words have vectors close to each other.
import { randomNumbers } from "./digest.ts"

const DIMENSIONS_PER_WORD = 32
/** Weight of the whole text, which distinguishes texts of the same words. */
const OWN_WEIGHT = 0.02

/** A vector of length 1, in single precision as it is sent. */
export function vectorOf(text: string, dimensions: number): Float32Array {
  const sums = new Float64Array(dimensions)
  const own = randomNumbers(`text ${text}`)
  for (let at = 0; at < dimensions; at++) sums[at] = (own() / 2 ** 31 - 1) * OWN_WEIGHT
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  for (const word of words) {
    const next = randomNumbers(`word ${word}`)
    for (let count = 0; count < DIMENSIONS_PER_WORD; count++) {
      const at = next() % dimensions
      sums[at] = (sums[at] ?? 0) + (next() % 2 === 0 ? 1 : -1)
    }
  }
  const length = Math.sqrt(sums.reduce((total, sum) => total + sum * sum, 0)) || 1
  return Float32Array.from(sums, (sum) => sum / length)
}
