import { afterAll, describe, expect, test } from "bun:test"
import { createServer, type Server } from "node:net"
import { fetchMedia, type MediaFetchOptions } from "./media-fetch.ts"

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.close()
})

/** A host that answers every request with these bytes; undefined keeps the connection open without an answer. */
async function hostOf(answer: string | undefined): Promise<{ port: number; heard: string[] }> {
  const heard: string[] = []
  const server = createServer((socket) => {
    socket.on("error", () => {})
    socket.once("data", (bytes) => {
      heard.push(bytes.toString("latin1"))
      if (answer !== undefined) socket.end(Buffer.from(answer, "latin1"))
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return { port: (server.address() as { port: number }).port, heard }
}

const PICTURE = "HTTP/1.1 200 OK\r\ncontent-type: image/png; x=y\r\ncontent-length: 4\r\n\r\n\x89PNG"

/** Options that treat the loopback as the public internet. */
function reaching(port: number, more: MediaFetchOptions = {}): MediaFetchOptions {
  return {
    isAllowed: (address) => address === "127.0.0.1",
    addressesOf: async () => ["127.0.0.1"],
    ports: [port],
    ...more,
  }
}

const why = (fetching: Promise<unknown>) =>
  fetching.then(
    () => "fetched",
    (error: Error) => `${error.name}: ${error.message}`,
  )

test("a fetched medium is returned with its type", async () => {
  const { port, heard } = await hostOf(PICTURE)
  const media = await fetchMedia(`http://pictures.test:${port}/a%20b?c=d#e`, reaching(port))
  expect(media.mediaType).toBe("image/png")
  expect(Buffer.from(media.bytes).toString("latin1")).toBe("\x89PNG")
  expect(heard[0]).toStartWith(`GET /a%20b?c=d HTTP/1.1\r\nhost: pictures.test:${port}\r\n`)
  expect(heard[0]?.toLowerCase()).not.toContain("authorization")
})

describe("addresses that are never connected to", () => {
  test.each([
    "http://127.0.0.1/",
    "http://[::1]/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://localhost/",
    "http://169.254.169.254/latest/meta-data",
    "https://10.0.0.1/",
  ])("an internal address is not connected to: %s", async (address) => {
    expect(await why(fetchMedia(address))).toBe("MediaFetchError: its host is not on the public internet")
  })

  test("a name that resolves to an internal and a public address is not connected to", async () => {
    const addressesOf = async () => ["93.184.216.34", "127.0.0.1"]
    expect(await why(fetchMedia("http://both.test/", { addressesOf }))).toContain("not on the public internet")
  })

  test("the connection uses the address that was checked, since a name is resolved once", async () => {
    const { port } = await hostOf(PICTURE)
    let requests = 0
    const addressesOf = async () => (requests++ === 0 ? ["127.0.0.1"] : ["127.0.0.2"])
    await fetchMedia(`http://rebound.test:${port}/`, reaching(port, { addressesOf }))
    expect(requests).toBe(1)
  })

  test.each([
    ["ftp://a.test/x", "it is not an http or https URL"],
    ["file:///etc/passwd", "it is not an http or https URL"],
    ["not an address", "it is not an http or https URL"],
    ["http://user:word@a.test/", "it contains a user name"],
    ["http://a.test:25/", "its port is not a standard web port"],
  ])("an unsuitable address is not connected to: %s", async (address, reason) => {
    expect(await why(fetchMedia(address))).toBe(`MediaFetchError: ${reason}`)
  })
})

describe("answers that are no medium", () => {
  test.each([
    [
      "a redirect",
      "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n",
      "its host answered 302",
    ],
    ["an error", "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "its host answered 404"],
    ["no type", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx", "its host does not send a media type"],
    [
      "compressed bytes",
      "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx",
      "its host sent it compressed",
    ],
    ["garbage", "SSH-2.0-OpenSSH\r\n", "its host could not be reached"],
    [
      "too much",
      `HTTP/1.1 200 OK\r\ncontent-type: a/b\r\n\r\n${"x".repeat(3 * 1024 * 1024)}`,
      "it is larger than 1 MiB",
    ],
    [
      "too much, as announced",
      "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\ncontent-length: 99999999\r\n\r\n",
      "it is larger than 1 MiB",
    ],
  ])("an answer is rejected with its reason: %s", async (_, answer, reason) => {
    const { port } = await hostOf(answer)
    const options = reaching(port, { maxBytes: 1024 * 1024 })
    expect(await why(fetchMedia(`http://a.test:${port}/`, options))).toBe(`MediaFetchError: ${reason}`)
  })

  test("an answer that does not arrive in time is rejected", async () => {
    const { port } = await hostOf(undefined)
    const reason = await why(fetchMedia(`http://a.test:${port}/`, reaching(port, { limitMs: 200 })))
    expect(reason).toBe("MediaFetchError: it did not arrive within 0.2 seconds")
  })
})
