import { describe, expect, test } from "bun:test"
import { GatewayError } from "../../canonical/gateway-error.ts"
import { ManualClock } from "../../transport/event-loop/manual-clock.fixture.ts"
import { ClientGoneError } from "../client-gone-error.ts"
import { UpstreamCalls } from "./upstream-calls.ts"

function beginCall({ limitMs = 10_000 } = {}) {
  const clock = new ManualClock()
  const calls = new UpstreamCalls(clock)
  const client = { isAway: false, isGone: () => client.isAway }
  return { clock, calls, client, call: calls.begin(client, { url: "http://upstream/", limitMs }) }
}

describe("an upstream call", () => {
  test("an upstream call is ended at its limit and not before", () => {
    const { clock, call } = beginCall()
    clock.advance(9999)
    expect(call.abort.aborted).toBe(false)
    clock.advance(51)
    expect(call.abort.reason).toBeInstanceOf(GatewayError)
    expect(String(call.abort.reason)).toContain("did not complete its response within 10 s")
  })

  test("an upstream call is ended once its client has left, unless only its usage is awaited", () => {
    const { clock, calls, client, call } = beginCall()
    const settling = calls.begin(client, { url: "http://upstream/", limitMs: 10_000 })
    settling.outlivesClient = true
    clock.advance(5000)
    expect(call.abort.aborted).toBe(false)
    client.isAway = true
    clock.advance(50)
    expect(call.abort.reason).toBeInstanceOf(ClientGoneError)
    expect(settling.abort.aborted).toBe(false)
  })

  test("an upstream call is ended when the upstream is silent for too long while it is waited for", () => {
    const { clock, call } = beginCall()
    call.silenceMs = 1000
    clock.advance(3000)
    expect(call.abort.aborted).toBe(false)
    call.waitingSince = clock.now()
    clock.advance(999)
    expect(call.abort.aborted).toBe(false)
    clock.advance(51)
    expect(String(call.abort.reason)).toContain("sent nothing for too long")
  })

  test("an upstream call that has ended is not watched any longer, and no timer remains", () => {
    const { clock, calls, call } = beginCall()
    calls.end(call)
    clock.advance(20_000)
    expect([call.abort.aborted, clock.running]).toEqual([false, 0])
  })
})
