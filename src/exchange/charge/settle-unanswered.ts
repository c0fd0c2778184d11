// The charge for an exchange without a response.
import { GatewayError } from "../../canonical/gateway-error.ts"
import type { AttemptInput } from "../attempt/attempt-targets.ts"
import { ClientGoneError } from "../exchange-record.ts"

/** Nothing, unless the client left during an upstream call: the upstream has read the request and bills for it. */
export async function settleUnanswered(
  { call, chargeSession }: Pick<AttemptInput, "call" | "chargeSession">,
  thrown: unknown,
): Promise<void> {
  const { target } = call.record
  if (!isLeaving(thrown) || !target) return chargeSession?.release()
  return chargeSession?.settle(target, {
    reported: { usage: undefined, isAll: false },
    transcript: () => ({ text: "", share: 1 }),
    waiter: "nobody",
  })
}

/** Whether nothing else had failed before the client left. A stream that was being opened says so in an error's words. */
function isLeaving(thrown: unknown): boolean {
  if (!(thrown instanceof ClientGoneError)) return false
  const { cause } = thrown
  return cause === undefined || (cause instanceof GatewayError && cause.cause instanceof ClientGoneError)
}
