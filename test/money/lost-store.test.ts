// A store that fails for a while: administration requests meanwhile, and a stop afterwards. (Callers' requests are in
// the proof's row 20.)
import { expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readOfflineLedger } from "../proof/offline-ledger.ts"
import { canLimit, liftLimit, limitFiles, NOTHING_FITS } from "../proof/store-fault.ts"
import { RunningGateway } from "../stage/gateway.ts"
import { sendRequest } from "./client.ts"

test.if(canLimit)("an administration request during a store failure is 503 store_unavailable", async () => {
  const gateway = await RunningGateway.start()
  try {
    limitFiles(gateway.pid, NOTHING_FITS)
    const answer = await gateway.administer("/admin/v1/keys", { method: "POST", body: JSON.stringify({ name: "new" }) })
    expect(answer.status).toBe(503)
    expect(await answer.text()).toContain("store_unavailable")
  } finally {
    await gateway.stop()
  }
})

test.if(canLimit)("a stopping gateway writes its open charges before it ends", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trivium-lost-store-"))
  const dataDir = join(folder, "data")
  const gateway = await RunningGateway.start({ dataDir })
  const { url, key, pid } = gateway
  const answer = sendRequest({
    url,
    key,
    protocol: "openai-chat",
    model: "openai/gpt-4o-mini@first-token-ms-4000",
    stream: false,
  })
  await Bun.sleep(1500)
  limitFiles(pid, NOTHING_FITS)
  const { cost } = await answer
  liftLimit(pid)
  await gateway.stop()
  const { entries, holds } = await readOfflineLedger(dataDir)
  rmSync(folder, { recursive: true })
  expect(cost).not.toBeNull()
  expect(holds).toEqual([])
  expect(entries.map(({ kind }) => kind)).toEqual(["settled"])
})
