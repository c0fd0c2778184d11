// The header `traceparent`, as the W3C defines it: which span of the caller an exchange belongs to.

export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const SAMPLED = 1

/** Undefined where it is malformed, as if it had not been sent. */
export function parseTraceParent(header: string): TraceParent | undefined {
  const [, version = "", traceId = "", spanId = "", flags = "", more] = FORM.exec(header.trim()) ?? []
  // Only later versions may say more, and ff is none.
  if (version === "" || version === "ff" || (version === "00" && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED }
}
