// A port that is free now, for servers that must be restarted on the same port.
import { createServer } from "node:net"

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      if (address === null || typeof address === "string") return reject(new Error("the port is not known"))
      server.close(() => resolve(address.port))
    })
  })
}
