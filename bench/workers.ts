// The benchmark's own programs, each a process that reports over IPC: the upstream, the bare proxy, the load tool.
import type { BenchCandidate, StartOptions } from "./candidate.ts"
import type { ChildProcesses } from "./children.ts"
import type { LoadJob, LoadResult } from "./load-job.ts"
import type { BenchProtocolName } from "./protocols.ts"

type WorkerOptions = { children: ChildProcesses; cpu: number | undefined }

export async function startUpstream(
  protocol: BenchProtocolName,
  { children, cpu }: WorkerOptions,
): Promise<BenchCandidate> {
  const { port } = await listening(["upstream.ts", protocol], { children, cpu })
  return { name: "direct", port, headers: {}, pid: undefined }
}

export async function startBare({ children, cpu, upstreamPort }: StartOptions): Promise<BenchCandidate> {
  const { port, pid } = await listening(["bare.ts", `http://127.0.0.1:${upstreamPort}/v1`], { children, cpu })
  return { name: "bare", port, headers: {}, pid }
}

export type LoadTool = { run(job: LoadJob): Promise<LoadResult> }

export async function startLoadTool({ children, cpu }: WorkerOptions): Promise<LoadTool> {
  let next = Promise.withResolvers<unknown>()
  const child = children.spawnBun(["load.ts"], { cpu, onMessage: (message) => next.resolve(message) })
  child.exited.then((code) => next.reject(new Error(`the load tool ended with ${code}`)))
  await next.promise
  return {
    async run(job) {
      next = Promise.withResolvers()
      child.send(job)
      return (await next.promise) as LoadResult
    },
  }
}

function listening(command: string[], { children, cpu }: WorkerOptions): Promise<{ port: number; pid: number }> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown) => resolve({ port: (message as { port: number }).port, pid: child.pid })
    const child = children.spawnBun(command, { cpu, onMessage })
    child.exited.then((code) => reject(new Error(`${command[0]} ended with ${code}`)))
  })
}
