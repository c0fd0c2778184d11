// What is owed where nobody was answered.
import { GatewayError } from "../canonical/error.ts"
import type { Attempts } from "./attempt.ts"
import { ClientGoneError } from "./record.ts"

/** Nothing, unless the client left while an upstream was at it: that has read the request, and bills for it. */
export async function settleUnanswered(
  { call, bill }: Pick<Attempts, "call" | "bill">,
  thrown: unknown,
): Promise<void> {
  const { target } = call.record
  if (!isLeaving(thrown) || !target) return bill?.release()
  return bill?.settle(target, {
    told: { usage: undefined, isAll: false },
    said: () => ({ text: "", share: 1 }),
    waiting: "nobody",
  })
}

/** Whether nothing else had failed before the client left. A stream that was being opened says so in an error's words. */
function isLeaving(thrown: unknown): boolean {
  if (!(thrown instanceof ClientGoneError)) return false
  const { cause } = thrown
  return cause === undefined || (cause instanceof GatewayError && cause.cause instanceof ClientGoneError)
}
