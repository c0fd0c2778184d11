// trivium simulate: runs the simulator as an upstream, for tests and benchmarks of its clients.
import { Command, InvalidArgumentError } from "commander"

export interface SimulateFlags {
  readonly host: string
  readonly port: number
  readonly firstTokenMs?: number
  readonly tokensPerSecond?: number
  /** In per cent. */
  readonly jitter?: number
  readonly seed?: string
  readonly bill?: string
}

export function simulateCommand(simulate: (flags: SimulateFlags) => Promise<void>): Command {
  return new Command("simulate")
    .description("run the simulator as an HTTP upstream that speaks every protocol and fails on request")
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .option("--port <port>", "port to listen on, 0 for any free port", parseWithin(0, 65_535), 8090)
    .option("--first-token-ms <ms>", "delay before the first token (default: none)", parseWithin(0, 1_000_000))
    .option(
      "--tokens-per-second <rate>",
      "token rate of each stream after its first token (default: unlimited)",
      parseWithin(1, 1_000_000),
    )
    .option("--jitter <percent>", "maximum random change of each delay, in percent (default: 0)", parseWithin(0, 100))
    .option("--seed <text>", "seed for identifiers and jitter (default: random at each start)")
    .option("--bill <file>", "append one JSON line per call with its simulated charge to this file")
    .action(simulate)
}

function parseWithin(from: number, to: number): (text: string) => number {
  return (text) => {
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (number >= from && number <= to) return number
    throw new InvalidArgumentError(`Give a whole number from ${from} to ${to}.`)
  }
}
