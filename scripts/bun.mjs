// Runs the project's own Bun with the given arguments: node scripts/bun.mjs FILE …
import { spawnSync } from "node:child_process"
import { environment, findBun, isolation } from "../bin/runtime.mjs"

const result = spawnSync(findBun(), [...isolation, ...process.argv.slice(2)], {
  stdio: "inherit",
  env: { ...process.env, ...environment },
})
process.exit(result.status ?? 1)
