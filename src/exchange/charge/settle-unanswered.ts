// The charge for an exchange without a response.
import { GatewayError } from "../../canonical/gateway-error.ts"
import { ClientGoneError } from "../client-gone-error.ts"
import type { ReservedExchange } from "../reserved-exchange.ts"

/** Nothing, unless the client left during an upstream call: the upstream has read the request and bills for it. */
export async function settleUnanswered(
  { call, chargeSession }: Pick<ReservedExchange, "call" | "chargeSession">,
  thrown: unknown,
  error?: GatewayError,
): Promise<void> {
  const { serving } = call.progress.attempts
  if (!isLeaving(thrown) || !serving) return chargeSession?.release(error)
  return chargeSession?.settle(serving.target, {
    reported: { usage: undefined, isAll: false },
    error,
    transcript: () => ({ text: "", share: 1 }),
    waiter: "departed",
  })
}

/** Whether nothing else had failed before the client left. A stream that was being opened says so in an error's words. */
function isLeaving(thrown: unknown): boolean {
  if (!(thrown instanceof ClientGoneError)) return false
  const { cause } = thrown
  return cause === undefined || (cause instanceof GatewayError && cause.cause instanceof ClientGoneError)
}
