// Plays a response's steps on a socket: chunks, pauses, FIN and RST.
import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import type { ResponsePlayback } from "./play-response.ts"
import type { HeadStep, ResponseStep, WriteStep } from "./response-steps.ts"

/** Maximum length of writes that are joined. */
const MAX_JOINED_CHARACTERS = 16 * 1024
/** Time for written bytes to arrive before a reset, which discards bytes on their way. */
const ARRIVAL_MS = 20

export interface SocketPlayback {
  readonly playback: ResponsePlayback
  readonly keepsAlive: boolean
  /** The answer is complete, and the connection may carry another. */
  readonly onEnd: () => void
}

export class SocketPlayer {
  readonly #socket: Socket
  readonly #playing: SocketPlayback
  #dueAt = performance.now()
  #unsent = ""
  #isChunked = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOver = false

  constructor(socket: Socket, playing: SocketPlayback) {
    this.#socket = socket
    this.#playing = playing
    this.#play()
  }

  /** Called when the client has gone. */
  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#playing.playback.onClientGone()
  }

  /** Plays until a step has to wait. */
  readonly #play = (): void => {
    while (!this.#isOver) {
      const { done, value } = this.#playing.playback.steps.next()
      if (done || !this.#goesOn(value)) return
    }
  }

  /** False if the next step has to wait. */
  #goesOn(step: ResponseStep): boolean {
    switch (step.kind) {
      case "head":
        return this.#begin(step)
      case "write":
        return this.#write(step)
      case "wait":
        return this.#wait(step.ms)
      case "end":
        this.#end()
        return false
      case "stall":
        this.#flush()
        return false
      default:
        this.#breakOff(step.kind)
        return false
    }
  }

  #begin({ status, headers, length }: HeadStep): boolean {
    this.#isChunked = length === undefined
    const framing = length === undefined ? "transfer-encoding: chunked" : `content-length: ${length}`
    const connection = this.#playing.keepsAlive ? "" : "connection: close\r\n"
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    this.#unsent = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Simulated"}\r\n${framing}\r\n${connection}${lines.join("")}\r\n`
    return true
  }

  #write({ data, apart }: WriteStep): boolean {
    if (data.length === 0) return true
    if (apart) {
      // A write in its own turn of the event loop leaves in its own segment.
      this.#flush()
      if (this.#sendThenPlay(this.#framed(data))) this.#timer = setTimeout(this.#play, 0)
      return false
    }
    if (typeof data !== "string") {
      this.#flush()
      return this.#sendThenPlay(this.#framed(data))
    }
    this.#unsent += this.#isChunked ? `${Buffer.byteLength(data).toString(16)}\r\n${data}\r\n` : data
    return this.#unsent.length < MAX_JOINED_CHARACTERS || this.#flushThenPlay()
  }

  #framed(data: string | Uint8Array): Buffer {
    const bytes = Buffer.from(data as string)
    if (!this.#isChunked) return bytes
    return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")])
  }

  /** Waits are measured from the beginning, so that delays do not accumulate. */
  #wait(ms: number): boolean {
    this.#dueAt += ms
    const left = this.#dueAt - performance.now()
    if (left <= 0) return true
    const isTaken = this.#flush()
    this.#timer = setTimeout(() => {
      // A client that has not read the last write gets no more.
      if (isTaken || !this.#socket.writableNeedDrain) this.#play()
      else this.#socket.once("drain", this.#play)
    }, left)
    return false
  }

  #end(): void {
    this.#isOver = true
    this.#unsent += this.#isChunked ? "0\r\n\r\n" : ""
    this.#flush()
    if (this.#playing.keepsAlive) this.#playing.onEnd()
    else this.#socket.end()
  }

  #breakOff(how: "cut" | "reset"): void {
    this.#isOver = true
    this.#flush()
    if (how === "cut") this.#socket.end()
    else this.#timer = setTimeout(() => this.#socket.resetAndDestroy(), ARRIVAL_MS)
  }

  #flushThenPlay(): boolean {
    const bytes = this.#unsent
    this.#unsent = ""
    return this.#sendThenPlay(bytes)
  }

  #sendThenPlay(bytes: string | Uint8Array): boolean {
    if (this.#send(bytes)) return true
    this.#socket.once("drain", this.#play)
    return false
  }

  /** False if the socket's buffer is full. */
  #flush(): boolean {
    if (this.#unsent === "") return true
    const bytes = this.#unsent
    this.#unsent = ""
    return this.#send(bytes)
  }

  #send(bytes: string | Uint8Array): boolean {
    return this.#socket.destroyed || this.#socket.write(bytes)
  }
}
