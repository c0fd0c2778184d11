// Token counts in buckets that never overlap. An absent bucket is unknown; 0 means that the upstream reported 0. Usage
// without any bucket was reported, but contained no valid count.

export interface Usage {
  /** Input that was neither read from nor written to a cache. */
  readonly input?: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly cacheWrite1h?: number
  readonly audioInput?: number
  readonly imageInput?: number
  /** Output the caller sees as text or tool calls. */
  readonly output?: number
  readonly reasoning?: number
  readonly audioOutput?: number
  readonly imageOutput?: number
}

/** The sum of the known buckets. No total is stored. */
export function totalTokens(usage: Usage): number {
  return Object.values(usage).reduce<number>((sum, count) => sum + (count ?? 0), 0)
}

/** The sum over several calls; a bucket is known only if every call reports it. */
export function sumUsageOfCalls(calls: readonly { readonly usage?: Usage | undefined }[]): Usage | undefined {
  return calls.reduce<Usage | undefined>((sum, { usage }) => sum && usage && addUsage(sum, usage), {})
}

function addUsage(one: Usage, other: Usage): Usage {
  const sum: Record<string, number> = { ...one }
  for (const [bucket, count] of Object.entries(other)) sum[bucket] = (sum[bucket] ?? 0) + count
  return sum
}
