#!/usr/bin/env node
// The `trivium` command: starts the gateway on Bun, passes signals on, starts it again after a crash, and ends as it ends.
import { spawn } from "node:child_process"
import { entry, environment, findBun, isolation } from "./runtime.mjs"
import { Supervisor } from "./supervisor.mjs"

/** The pipe on which the gateway says that it serves. */
const SERVING_FD = 3

const words = process.argv.slice(2)
const isSupervised = !words.includes("--no-restart")
const bun = foundBun()
const bunWords = [...isolation, entry, ...words]
if (!isSupervised && process.execve) becomeGateway()

const supervisor = new Supervisor({ start, end, report })
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => supervisor.stop(signal))
supervisor.run()

function foundBun() {
  try {
    return findBun()
  } catch (error) {
    console.error(error.message)
    process.exit(1)
  }
}

/** In this process, where Node can: a supervisor then has the gateway itself before it. */
function becomeGateway() {
  const { TRIVIUM_LAUNCHER_PID: _, ...env } = process.env
  process.execve(bun, [bun, ...bunWords], { ...env, ...environment })
}

function start(onExit) {
  const env = {
    ...process.env,
    ...environment,
    // The gateway watches this process and ends when it is gone, so that a killed launcher leaves nothing behind.
    TRIVIUM_LAUNCHER_PID: String(process.pid),
    ...(isSupervised && { TRIVIUM_SERVING_FD: String(SERVING_FD) }),
  }
  const stdio = ["inherit", "inherit", "inherit", ...(isSupervised ? ["pipe"] : [])]
  const child = spawn(bun, bunWords, { stdio, env })
  let hasServed = false
  child.stdio[SERVING_FD]
    ?.on("error", () => {})
    .on("data", () => {
      hasServed = true
    })
  child.on("error", (error) => {
    console.error(`Trivium could not start ${bun}: ${error.message}`)
    process.exit(1)
  })
  // After its end all it has said is read.
  child.on("close", (code, signal) => onExit({ code, signal }))
  return { kill: (signal) => child.kill(signal), hasServed: () => hasServed }
}

function end({ code, signal }) {
  if (signal === null) process.exit(code)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}

/** In the form of the gateway's own log. */
function report({ reason, waitMs }) {
  const told = `The gateway ${reason}. It is started again in ${waitMs / 1000} s.`
  const line = { time: new Date().toISOString(), level: "error", event: "gateway-crashed", reason: told }
  process.stderr.write(`${JSON.stringify(line)}\n`)
}
