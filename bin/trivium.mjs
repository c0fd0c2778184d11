#!/usr/bin/env node
// The `trivium` command: starts the gateway on Bun, passes signals on, and ends with its exit code.
import { spawn } from "node:child_process"
import { entry, environment, findBun, isolation } from "./runtime.mjs"

let bun
try {
  bun = findBun()
} catch (error) {
  console.error(error.message)
  process.exit(1)
}

const child = spawn(bun, [...isolation, entry, ...process.argv.slice(2)], {
  stdio: "inherit",
  // The gateway watches this process and ends when it is gone, so that a killed launcher leaves nothing behind.
  env: { ...process.env, ...environment, TRIVIUM_LAUNCHER_PID: String(process.pid) },
})

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))

child.on("error", (error) => {
  console.error(`Trivium could not start ${bun}: ${error.message}`)
  process.exit(1)
})
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
