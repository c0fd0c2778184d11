// Which lane an attempt takes: bytes pass where client and upstream speak alike, all else is said again.
import { SEAL_MARK } from "../canonical/sealed.ts"
import type { Target } from "../routing/plan.ts"
import type { Lane } from "./lane.ts"
import { relayLane } from "./relay-lane.ts"
import { type Occasion, translateLane } from "./translate-lane.ts"

export function laneTo(target: Target, occasion: Occasion): Lane | Promise<Lane> {
  const { call, request } = occasion
  const alike = target.protocol === call.protocol.id
  // A seal in an envelope of ours is another upstream's, and may be sent to nobody else.
  const passes = alike && (call.envelope.does !== "generate" || !request.text.includes(SEAL_MARK))
  return passes ? relayLane : translateLane(target, occasion)
}
