// A PNG that depends only on its prompt: a mirrored pattern in four colours, which compresses well.
import { crc32, deflateSync } from "node:zlib"
import { randomNumbers } from "./digest.ts"

export interface PictureSize {
  readonly width: number
  readonly height: number
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const FIELDS = 8
const BITS_PER_PIXEL = 2
const INDEXED_COLOUR = 3

export function drawImage(prompt: string, size: PictureSize): Buffer {
  const next = randomNumbers(prompt)
  const palette = Buffer.from(Array.from({ length: 12 }, () => next() & 0xff))
  const pattern = Array.from({ length: FIELDS }, () => mirroredRow(next))
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header(size)),
    chunk("PLTE", palette),
    chunk("IDAT", deflateSync(pixels(pattern, size), { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ])
}

/** A row of colour indexes, mirrored. */
function mirroredRow(next: () => number): number[] {
  const half = Array.from({ length: FIELDS / 2 }, () => next() & 3)
  return [...half, ...half.toReversed()]
}

function header({ width, height }: PictureSize): Buffer {
  const data = Buffer.alloc(13)
  data.writeUInt32BE(width, 0)
  data.writeUInt32BE(height, 4)
  data[8] = BITS_PER_PIXEL
  data[9] = INDEXED_COLOUR
  return data
}

/** Every row of pixels begins with its filter byte: none. */
function pixels(pattern: readonly (readonly number[])[], { width, height }: PictureSize): Buffer {
  const rows = pattern.map((fields) => row(fields, width))
  const at = (y: number): Buffer => rows[Math.floor((y * FIELDS) / height)] ?? Buffer.alloc(0)
  return Buffer.concat(Array.from({ length: height }, (_, y) => at(y)))
}

function row(fields: readonly number[], width: number): Buffer {
  const bytes = Buffer.alloc(1 + Math.ceil((width * BITS_PER_PIXEL) / 8))
  for (let x = 0; x < width; x++) {
    const colour = fields[Math.floor((x * FIELDS) / width)] ?? 0
    const byte = 1 + (x >> 2)
    bytes[byte] = (bytes[byte] ?? 0) | (colour << (6 - 2 * (x & 3)))
  }
  return bytes
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
