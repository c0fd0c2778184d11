// The load tool, a process of its own: takes one job after the other over IPC and answers each with its counts.
import { LoadConnection } from "./load-connection.ts"
import type { LoadJob, LoadPlan, LoadResult } from "./load-job.ts"
import { LoadTally } from "./load-tally.ts"

const STALL_MS = 30_000

/** Decides what an idle connection does next. */
type DriveConnection = (connection: LoadConnection) => void

process.on("disconnect", () => process.exit())
process.on("message", async (job: LoadJob) => process.send?.(await run(job)))
process.send?.({ ready: true })

async function run(job: LoadJob): Promise<LoadResult> {
  const tally = new LoadTally()
  let drive: DriveConnection = () => {}
  const next = requestsInTurn(job)
  const connections = Array.from(
    { length: job.connections },
    () => new LoadConnection({ job, next, tally, onIdle: (connection) => drive(connection) }),
  )
  try {
    await Promise.all(connections.map((connection) => connection.open()))
  } catch (error) {
    tally.fail(`cannot connect: ${String(error)}`)
    for (const connection of connections) connection.close()
    return tally.result()
  }
  drive = driveBy(job.plan)
  const watchdog = setTimeout(() => {
    for (const connection of connections) connection.abandon("no answer in time")
  }, STALL_MS)
  for (const connection of connections) drive(connection)
  await Promise.all(connections.map((connection) => connection.closed))
  clearTimeout(watchdog)
  return tally.result()
}

function requestsInTurn(job: LoadJob): () => Buffer {
  const callers = job.keys.length > 0 ? job.keys.map((key) => ({ authorization: `Bearer ${key}` })) : [{}]
  const requests = callers.map((caller) => encodeRequest({ ...job, headers: { ...job.headers, ...caller } }))
  let turn = 0
  return () => requests[turn++ % requests.length] as Buffer
}

function encodeRequest({ port, path, headers, body }: LoadJob): Buffer {
  const fields = Object.entries({
    host: `127.0.0.1:${port}`,
    accept: "application/json",
    "content-type": "application/json",
    "user-agent": "bench",
    "content-length": String(Buffer.byteLength(body)),
    ...headers,
  })
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines}\r\n${body}`)
}

function driveBy(plan: LoadPlan): DriveConnection {
  if (plan.kind === "closed") return driveClosed(plan.durationMs)
  if (plan.kind === "paced") return drivePaced(plan)
  return driveCounted(plan)
}

function driveClosed(durationMs: number): DriveConnection {
  const deadline = performance.now() + durationMs
  return (connection) => {
    if (performance.now() < deadline) connection.send()
    else connection.close()
  }
}

function driveCounted({ perConnection, staggerMs }: { perConnection: number; staggerMs: number }): DriveConnection {
  const sent = new Map<LoadConnection, number>()
  return (connection) => {
    const before = sent.get(connection)
    if (before === undefined) setTimeout(() => connection.send(), sent.size * staggerMs)
    else if (before === perConnection) connection.close()
    else connection.send()
    sent.set(connection, (before ?? 0) + 1)
  }
}

function drivePaced({ perSecond, durationMs }: { perSecond: number; durationMs: number }): DriveConnection {
  const start = performance.now()
  const idle: LoadConnection[] = []
  const due: number[] = []
  let made = 0
  let over = false
  const tick = () => {
    const now = performance.now()
    for (const target = ((now - start) / 1000) * perSecond; made < target; made++) due.push(now)
    while (idle.length > 0 && due.length > 0) idle.shift()?.send(due.shift())
    over = now - start > durationMs
    if (over) for (const connection of idle.splice(0)) connection.close()
    else setTimeout(tick, 1)
  }
  setTimeout(tick, 1)
  return (connection) => {
    const since = due.shift()
    if (since !== undefined) connection.send(since)
    else if (over) connection.close()
    else idle.push(connection)
  }
}
