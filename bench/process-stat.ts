// Linux's figures about a process: its processor time, its memory, its children.
import { readFileSync } from "node:fs"

/** Linux reports processor time in ticks of 1/100 s to every program, whatever the kernel's own timer. */
const MICROS_PER_TICK = 10_000

/** User and system time of all threads since the process started. */
export function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  // The second field is the program's name, which may hold spaces and brackets: count from its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK
}

/** The time that the host of a guest machine took from this core, or from all of them, since it was started. */
export function stolenMicros(cpu: number | undefined): number {
  const line = readFileSync("/proc/stat", "utf8")
    .split("\n")
    .find((each) => each.startsWith(cpu === undefined ? "cpu " : `cpu${cpu} `))
  return Number(line?.split(/\s+/)[8] ?? 0) * MICROS_PER_TICK
}

export function residentMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
  if (!kilobytes) throw new Error(`process ${pid} reports no resident memory`)
  return Number(kilobytes) / 1024
}

export function childPids(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** The process and everything below it, parents first. */
export function processTree(pid: number): number[] {
  return [pid, ...childPids(pid).flatMap(processTree)]
}

export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    return stat[stat.lastIndexOf(")") + 2] !== "Z"
  } catch {
    return false
  }
}
