// The connection that carries a call: hosts on real sockets, callers of several owners.
import { afterEach, describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { dialQuickly } from "./bun-wire.ts"
import { httpSender } from "./http-client.ts"
import { okResponseText, readText, TestHost, upstreamRequest } from "./http-host.fixture.ts"
import { SILENCE_MS } from "./idle-connections.ts"
import { dialPatiently } from "./wire.ts"

const hosts: TestHost[] = []
afterEach(() => {
  for (const host of hosts.splice(0)) host.stop()
})

async function start(answer: Parameters<typeof TestHost.start>[0]): Promise<TestHost> {
  const host = await TestHost.start(answer)
  hosts.push(host)
  return host
}

/** The pool's time, which only the tests advance. */
let now = 0
const clock = () => now

describe.each([
  ["patient", dialPatiently],
  ["quick", dialQuickly],
])("the pool with the %s dialler", (_, dial) => {
  const echo = () => start((socket, _, { body }) => socket.write(okResponseText(body)))

  async function call(send: ReturnType<typeof httpSender>, { url, owner }: { url: string; owner?: string }) {
    const body = `for ${owner} ${Math.random()}`
    const answered = await readText(await send(upstreamRequest(url, { body, ...(owner !== undefined && { owner }) })))
    return { answered, body }
  }

  test("a connection is reused at once by its own tenant, and by another only after a silence", async () => {
    const send = httpSender({ dial, now: clock })
    const host = await echo()
    for (const owner of ["a", "a", "b", "a", "b"]) await call(send, { url: host.url, owner })
    expect(host.sockets).toHaveLength(2)
    now += SILENCE_MS
    await call(send, { url: host.url, owner: "c" })
    await call(send, { url: host.url, owner: "d" })
    expect(host.sockets).toHaveLength(2)
    // Both connections belong to c and d now.
    await call(send, { url: host.url, owner: "a" })
    expect(host.sockets).toHaveLength(3)
  })

  test("a tenant gets its own connection rather than another's that has long been silent", async () => {
    const send = httpSender({ dial, now: clock })
    const host = await start((socket, _, { body }) =>
      socket.write(okResponseText(`${body} ${host.sockets.indexOf(socket)}`)),
    )
    const socketOf = async (owner: string) =>
      Number((await call(send, { url: host.url, owner })).answered.split(" ").at(-1))
    const own = await socketOf("a")
    const others = await socketOf("b")
    now += SILENCE_MS
    expect([await socketOf("a"), await socketOf("b")]).toEqual([own, others])
  })

  test("a connection of the gateway's own calls is not shared with a tenant", async () => {
    const send = httpSender({ dial, now: clock })
    const host = await echo()
    await call(send, { url: host.url })
    await call(send, { url: host.url, owner: "a" })
    await call(send, { url: host.url })
    expect(host.sockets).toHaveLength(2)
  })

  test("a connection under strict isolation is never reused by another tenant", async () => {
    const send = httpSender({ dial, isolation: "strict", now: clock })
    const host = await echo()
    await call(send, { url: host.url, owner: "a" })
    now += SILENCE_MS
    await call(send, { url: host.url, owner: "b" })
    await call(send, { url: host.url, owner: "a" })
    expect(host.sockets).toHaveLength(2)
  })

  test("a connection that receives bytes while idle is closed", async () => {
    const send = httpSender({ dial, now: clock })
    const host = await start((socket, _, { body }) => socket.write(okResponseText(body)))
    await call(send, { url: host.url, owner: "a" })
    host.sockets[0]?.write("\r\n")
    while (!host.sockets[0]?.closed) await Bun.sleep(5)
    const { answered, body } = await call(send, { url: host.url, owner: "a" })
    expect(answered).toBe(body)
    expect(host.sockets).toHaveLength(2)
  })

  test("a connection is handed over only after every byte received on it was read", async () => {
    const send = httpSender({ dial, now: clock })
    const host = await startApart()
    try {
      const first = await call(send, { url: host.url, owner: "a" })
      expect(first.answered).toBe(first.body)
      // The second answer is written while this process reads no socket; the connection has been idle for long enough then.
      host.answerAgain()
      now += SILENCE_MS
      const second = await call(send, { url: host.url, owner: "b" })
      expect(second.answered).toBe(second.body)
    } finally {
      host.stop()
    }
  })
})

/** A host in its own process that answers each request, and sends its last response again on command. */
async function startApart(): Promise<{ url: string; answerAgain(): void; stop(): void }> {
  const folder = mkdtempSync(join(tmpdir(), "trivium-host-"))
  const [asked, done] = [join(folder, "asked"), join(folder, "done")]
  const listen = `const { existsSync, writeFileSync } = require("node:fs")
    const server = require("node:net").createServer((socket) => {
      socket.on("error", () => {})
      socket.on("data", (bytes) => {
        const body = bytes.toString().split("\\r\\n\\r\\n")[1]
        const answer = "HTTP/1.1 200 OK\\r\\ncontent-length: " + body.length + "\\r\\n\\r\\n" + body
        socket.write(answer)
        const again = setInterval(() => {
          if (!existsSync(${JSON.stringify(asked)})) return
          clearInterval(again)
          socket.write(answer, () => writeFileSync(${JSON.stringify(done)}, ""))
        }, 5)
      })
    })
    server.listen(0, "127.0.0.1", () => console.log(server.address().port))`
  const child = spawn(process.execPath, ["-e", listen], { stdio: ["ignore", "pipe", "inherit"] })
  const port = await new Promise<number>((resolve) => child.stdout.once("data", (text) => resolve(Number(text))))
  return {
    url: `http://127.0.0.1:${port}/`,
    /** Returns when the bytes are in the kernel: this process reads nothing meanwhile. */
    answerAgain() {
      writeFileSync(asked, "")
      while (!existsSync(done)) Bun.sleepSync(5)
    },
    stop() {
      child.kill("SIGKILL")
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
