// The start-up time that an operator sees: from `npm start` until a request is answered.
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { freePort, waitFor } from "./candidate.ts"
import type { ChildProcesses } from "./children.ts"
import { scratchEnvironment } from "./gateway.ts"

type StartTimeOptions = { children: ChildProcesses; folder: string; times: number }

/** Milliseconds of each start, in order; each has a fresh data folder. */
export async function startTimes({ children, folder, times }: StartTimeOptions): Promise<number[]> {
  const taken: number[] = []
  for (let turn = 0; turn < times; turn++) {
    const home = join(folder, `start-${turn}`)
    mkdirSync(home)
    taken.push(await startOnce(children, home))
  }
  return taken
}

async function startOnce(children: ChildProcesses, home: string): Promise<number> {
  const port = freePort()
  const command = ["npm", "start", "--", "--port", String(port), "--data", join(home, "data")]
  const options = { cwd: join(import.meta.dir, ".."), env: scratchEnvironment(home), log: join(home, "output.log") }
  const began = performance.now()
  const child = children.spawn(command, options)
  const taken = await waitFor("npm start", async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/models`)
    return answer.status < 500 ? performance.now() - began : undefined
  })
  await children.end(child)
  return taken
}
