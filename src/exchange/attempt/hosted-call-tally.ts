// Counts the tools that a provider ran for one response, from its bytes. Used only for requests that allow such tools.
import type { BilledToolCalls, HostedCallCounter } from "../../canonical/hosted-calls.ts"
import { isObject } from "../../canonical/json.ts"
import { decodeUtf8 } from "../../transport/json/byte-text.ts"
import type { Attempt } from "../lanes/lane.ts"

const LINE_FEED = 0x0a
/** Longer lines hold nothing that is counted. */
const MAX_LINE = 1024 * 1024

export class HostedCallTally {
  private rest = new Uint8Array(0)

  constructor(private readonly counter: HostedCallCounter) {}

  get calls(): BilledToolCalls | undefined {
    const { calls } = this.counter
    for (const _ in calls) return calls
    return undefined
  }

  /** A piece of a stream of events, each of which has its data in one line. */
  push(bytes: Uint8Array): void {
    const all = this.rest.length > 0 ? Buffer.concat([this.rest, bytes]) : bytes
    const end = all.lastIndexOf(LINE_FEED) + 1
    this.rest = all.length - end > MAX_LINE ? new Uint8Array(0) : all.slice(end)
    for (const line of decodeUtf8(all.subarray(0, end)).split("\n")) {
      if (line.startsWith("data:")) this.seeText(line.slice("data:".length))
    }
  }

  /** A whole answer. */
  seeText(text: string): void {
    try {
      const value: unknown = JSON.parse(text)
      if (isObject(value)) this.counter.see(value)
    } catch {
      // Invalid JSON reports no calls.
    }
  }
}

/** Undefined where the provider was not let run tools, or does not say that it did. */
export function tallyHostedCalls({ deps, request, target }: Attempt): HostedCallTally | undefined {
  if (!request.reading.runsTools) return undefined
  const counter = deps.codecs.upstream.get(target.protocol)?.countHostedCalls?.()
  return counter && new HostedCallTally(counter)
}
