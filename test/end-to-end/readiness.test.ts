// Readiness, as load balancers and orchestrators query it.
import { expect, test } from "bun:test"
import { canLimit, liftLimit, limitFiles, NOTHING_FITS } from "../proof/store-fault.ts"
import { eventually } from "../stage/eventually.ts"
import { RunningGateway } from "../stage/gateway.ts"

const HI = { model: "openai/gpt-4o-mini", messages: [{ role: "user", content: "hi" }] }

test.if(canLimit)("a gateway whose store fails is alive but not ready, until the store works again", async () => {
  const gateway = await RunningGateway.start()
  const status = async (path: string) => (await fetch(`${gateway.url}${path}`)).status
  try {
    expect([await status("/readyz"), await status("/healthz")]).toEqual([200, 200])
    limitFiles(gateway.pid, NOTHING_FITS)
    await eventually(async () => (await status("/readyz")) === 503, { what: "readiness to end" })
    expect(await (await fetch(`${gateway.url}/readyz`)).json()).toEqual({ status: "store_unavailable" })
    expect(await status("/healthz")).toBe(200)
    expect((await gateway.chat(HI)).status).toBe(503)
    expect(await status("/readyz")).toBe(503)
    liftLimit(gateway.pid)
    await eventually(async () => (await status("/readyz")) === 200, { what: "readiness to return" })
    expect((await gateway.chat(HI)).status).toBe(200)
  } finally {
    await gateway.stop()
  }
})
