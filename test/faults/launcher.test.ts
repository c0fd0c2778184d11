// The launcher restarts a crashed gateway, and never one that was stopped or cannot start.
import { afterEach, describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { findBun } from "../../bin/runtime.mjs"
import { Supervisor } from "../../bin/supervisor.mjs"
import { eventually, within } from "../stage/eventually.ts"
import { freePort } from "../stage/free-port.ts"
import { HAS_LAUNCHER, RunningGateway, runCommand } from "../stage/gateway.ts"

const root = join(import.meta.dir, "..", "..")

interface LauncherExit {
  readonly code: number | null
  readonly signal: string | null
}

const SEGV: LauncherExit = { code: null, signal: "SIGSEGV" }
const KILLED: LauncherExit = { code: null, signal: "SIGKILL" }
const FAULT: LauncherExit = { code: 70, signal: null }

/** A supervisor with processes, a clock and timers that the test moves. */
function supervised({ serves = true } = {}) {
  const state = { starts: 0, nowMs: 0, waits: [] as number[], ends: [] as LauncherExit[], kills: [] as string[] }
  let exit: (how: LauncherExit) => void = () => {}
  let due: (() => void) | undefined
  const supervisor = new Supervisor({
    start: (onExit) => {
      state.starts++
      exit = onExit
      return { kill: (signal) => state.kills.push(signal), hasServed: () => serves }
    },
    end: (how) => state.ends.push(how),
    report: ({ waitMs }) => state.waits.push(waitMs),
    now: () => state.nowMs,
    later: (act) => {
      due = act
      return 1
    },
    earlier: () => {
      due = undefined
    },
  })
  supervisor.run()
  const crash = (how: LauncherExit, { afterMs = 0 } = {}) => {
    state.nowMs += afterMs
    exit(how)
  }
  const wait = () => {
    const act = due
    due = undefined
    act?.()
  }
  return { supervisor, state, crash, wait }
}

describe("a supervisor", () => {
  test("a supervisor doubles its delay after each crash, up to ten seconds, and never gives up", () => {
    const { state, crash, wait } = supervised()
    for (const how of [SEGV, KILLED, FAULT, SEGV, SEGV, SEGV, SEGV, SEGV]) {
      crash(how)
      expect(state.starts).toBe(state.waits.length)
      wait()
    }
    expect(state.waits).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, 10_000])
    expect([state.starts, state.ends]).toEqual([9, []])
  })

  test("a supervisor starts again with short delays after the gateway ran well for a minute", () => {
    const { state, crash, wait } = supervised()
    for (const afterMs of [0, 0, 59_999, 60_000, 0]) {
      crash(SEGV, { afterMs })
      wait()
    }
    expect(state.waits).toEqual([200, 400, 800, 200, 400])
  })

  test.each<[string, LauncherExit]>([
    ["a clean stop", { code: 0, signal: null }],
    ["a start that failed, or a second signal", { code: 1, signal: null }],
  ])("a supervisor restarts nothing after %s", (_, how) => {
    const { state, crash } = supervised()
    crash(how)
    expect([state.starts, state.ends]).toEqual([1, [how]])
  })

  test("a supervisor restarts nothing after a forwarded signal, however the gateway ends", () => {
    for (const how of [SEGV, KILLED, FAULT]) {
      const { supervisor, state, crash } = supervised()
      supervisor.stop("SIGTERM")
      crash(how)
      expect([state.kills, state.starts, state.ends]).toEqual([["SIGTERM"], 1, [how]])
    }
  })

  test("a supervisor ends at once when it is stopped during a delay", () => {
    const { supervisor, state, crash, wait } = supervised()
    crash(SEGV)
    supervisor.stop("SIGINT")
    wait()
    expect([state.kills, state.starts, state.ends]).toEqual([[], 1, [{ code: 0, signal: null }]])
  })

  test("a supervisor exits with the process's code if that never became a gateway", () => {
    const { state, crash } = supervised({ serves: false })
    crash(KILLED)
    expect([state.starts, state.ends]).toEqual([1, [KILLED]])
  })
})

describe.if(HAS_LAUNCHER)("the launcher", () => {
  const started: RunningGateway[] = []
  afterEach(async () => {
    for (const gateway of started.splice(0)) await gateway.stop()
  })

  async function start(options: Parameters<typeof RunningGateway.start>[0]): Promise<RunningGateway> {
    const gateway = await RunningGateway.start(options)
    started.push(gateway)
    return gateway
  }

  const isUp = (url: string) =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    )

  test("the launcher restarts a gateway that was killed or crashed, and reports it", async () => {
    const gateway = await start({ restarts: true, port: await freePort() })
    for (const [index, signal] of (["SIGSEGV", "SIGKILL", "SIGABRT"] as const).entries()) {
      const { pid } = gateway
      process.kill(pid, signal)
      await eventually(() => gateway.logged("gateway-crashed").length > index, {
        what: "a line",
      })
      await eventually(() => isUp(gateway.url), { what: "the gateway's return" })
      expect(gateway.pid).not.toBe(pid)
    }
    const reasons = gateway.logged("gateway-crashed").map(({ level, reason }) => `${level}: ${reason}`)
    expect(reasons).toEqual([
      "error: The gateway was ended by SIGSEGV. It is started again in 0.2 s.",
      "error: The gateway was ended by SIGKILL. It is started again in 0.4 s.",
      "error: The gateway was ended by SIGABRT. It is started again in 0.8 s.",
    ])
    gateway.signal("SIGINT")
    expect(await within(gateway.exited(), "the end")).toBe(0)
  })

  test("the launcher does not restart a gateway that ended normally", async () => {
    const gateway = await start({ restarts: true })
    process.kill(gateway.pid, "SIGINT")
    expect(await within(gateway.exited(), "the end")).toBe(0)
    expect(gateway.logged("gateway-crashed")).toEqual([])
  })

  test("the launcher takes its gateway down when it is killed, also after a restart", async () => {
    const gateway = await start({ restarts: true, port: await freePort() })
    process.kill(gateway.pid, "SIGKILL")
    await eventually(() => gateway.logged("gateway-crashed").length > 0)
    await eventually(() => isUp(gateway.url), { what: "the gateway's return" })
    process.kill(gateway.launcherPid, "SIGKILL")
    await eventually(async () => !(await isUp(gateway.url)), { what: "the gateway's end" })
  })

  test("the launcher ends with a crashing gateway under --no-restart", async () => {
    const gateway = await start({})
    process.kill(gateway.pid, "SIGKILL")
    await within(gateway.exited(), "the launcher's end")
    expect(await isUp(gateway.url)).toBe(false)
    expect(gateway.logged("gateway-crashed")).toEqual([])
  })

  test.each([
    ["a configuration that is not valid", "modles: []\n", "modles"],
    ["a store that does not open", "store: { url: sqlite:///proc/no/trivium.db }\n", "/proc/no"],
  ])("the launcher ends with code 1 after %s", async (_, config, message) => {
    const { folder } = await start({})
    writeFileSync(join(folder, "trivium.yaml"), config)
    const { code, stderr } = await runCommand(["serve", "--port", "0", "--admin-port", "0"], { folder })
    expect(code).toBe(1)
    expect(stderr).toContain(message)
    expect(stderr).not.toContain("gateway-crashed")
  })

  test("the launcher ends with code 1 if the port is in use", async () => {
    const { url, folder } = await start({})
    const words = ["serve", "--port", new URL(url).port, "--admin-port", "0", "--data", join(folder, "other")]
    const { code, stderr } = await runCommand(words, { folder })
    expect(code).toBe(1)
    expect(stderr).not.toContain("gateway-crashed")
  })

  test("the launcher becomes the gateway under --no-restart if the runtime can replace a process", async () => {
    // Node 20 has no process.execve, as newer ones do; Bun has.
    const { folder } = await start({})
    const words = ["serve", "--no-restart", "--port", "0", "--admin-port", "0", "--data", join(folder, "other")]
    const child = spawn(findBun(), [join(root, "bin", "trivium.mjs"), ...words], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? "", HOME: folder },
      stdio: ["ignore", "pipe", "ignore"],
    })
    const exit = new Promise<number | null>((resolve) => child.once("exit", resolve))
    let stdout = ""
    child.stdout.on("data", (bytes) => {
      stdout += bytes
    })
    await eventually(() => /^listening on/m.test(stdout), { what: "the gateway" })
    const mark = JSON.parse(readFileSync(join(folder, "other", "gateway.json"), "utf8")) as { pid: number }
    expect(mark.pid).toBe(child.pid ?? 0)
    child.kill("SIGINT")
    expect(await within(exit, "the end")).toBe(0)
  })
})
