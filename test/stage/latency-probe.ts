// Sends a small request repeatedly from a separate process, so that it measures the gateway's latency and not the load of
// the test process.
import { spawn } from "node:child_process"

const EVERY_MS = 20

export class LatencyProbe {
  private constructor(
    private readonly child: ReturnType<typeof spawn>,
    private readonly output: { text: string },
  ) {}

  /** Begins, and resolves once the first answer is there. */
  static async start(url: string): Promise<LatencyProbe> {
    const child = spawn(process.execPath, [import.meta.path, url], { stdio: ["ignore", "pipe", "inherit"] })
    const output = { text: "" }
    await new Promise<void>((resolve, reject) => {
      child.stdout.on("data", (bytes) => {
        output.text += bytes
        resolve()
      })
      child.once("exit", (code) => reject(new Error(`the pulse ended with ${code}`)))
    })
    return new LatencyProbe(child, output)
  }

  /** Ends, and returns the duration of each answer, in milliseconds. */
  async stop(): Promise<number[]> {
    const closed = new Promise((resolve) => this.child.once("close", resolve))
    this.child.kill()
    await closed
    return this.output.text.trim().split("\n").map(Number)
  }
}

if (import.meta.main) {
  const [url = ""] = process.argv.slice(2)
  for (;;) {
    const startedAt = performance.now()
    await (await fetch(url)).text()
    process.stdout.write(`${(performance.now() - startedAt).toFixed(1)}\n`)
    await Bun.sleep(EVERY_MS)
  }
}
