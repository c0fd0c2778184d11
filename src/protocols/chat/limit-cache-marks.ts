// Limits cache marks to what Anthropic and Bedrock accept: at most four, and none for an hour after one for five
// minutes.

import type { ChatRequest } from "../../canonical/chat/chat-request.ts"
import type { CacheMark, ContentPart } from "../../canonical/chat/content-part.ts"
import type { Losses } from "../../canonical/loss.ts"
import { approximated, dropped, memberPath } from "../losses.ts"

const MOST = 4

/** Keeps the last marks, because they cover the longest prefix. */
export function limitCacheMarks(request: ChatRequest, losses: Losses): ChatRequest {
  const count = countCacheMarks(request)
  if (count === 0) return request
  const fitting = new CacheMarkLimiter(count - MOST, losses)
  return {
    ...request,
    tools: request.tools.map((tool) => fitting.fit(tool)),
    instructions: request.instructions.map((part) => fitting.fitPart(part)),
    turns: request.turns.map((turn) => ({ ...turn, parts: turn.parts.map((part) => fitting.fitPart(part)) })),
  }
}

function countCacheMarks({ tools, instructions, turns }: ChatRequest): number {
  const marked = (part: ContentPart): number =>
    (part.cacheMark ? 1 : 0) + (part.kind === "tool-result" ? sum(part.parts.map(marked)) : 0)
  const parts = [...instructions, ...turns.flatMap((turn) => turn.parts)]
  return tools.filter(({ cacheMark }) => cacheMark).length + sum(parts.map(marked))
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0)
}

interface CacheMarked {
  readonly at?: string
  readonly cacheMark?: CacheMark
}

/** Visits the marks in the vendor's order. */
class CacheMarkLimiter {
  private isShort = false

  constructor(
    private tooMany: number,
    private readonly losses: Losses,
  ) {}

  fitPart(part: ContentPart): ContentPart {
    if (part.kind !== "tool-result") return this.fit(part)
    return this.fit({ ...part, parts: part.parts.map((inner) => this.fitPart(inner)) })
  }

  fit<Whole extends CacheMarked>(whole: Whole): Whole {
    const { cacheMark, at } = whole
    if (!cacheMark) return whole
    const path = memberPath(at, "cache_control")
    if (this.tooMany-- > 0) {
      this.losses.push(dropped.hint(path, `the vendor accepts at most ${MOST} cache marks; the last ones are kept`))
      const { cacheMark: _, ...bare } = whole
      return bare as Whole
    }
    const isLong = cacheMark.ttl === "1h"
    if (isLong && this.isShort) {
      this.losses.push(approximated.hint(`${path}.ttl`, "no mark for an hour may follow one for five minutes"))
      return { ...whole, cacheMark: { ttl: "5m" } }
    }
    this.isShort ||= !isLong
    return whole
  }
}
