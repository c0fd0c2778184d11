// Reads the width and height of an image from the first bytes of its file: vendors charge images by size.

export interface PixelSize {
  readonly width: number
  readonly height: number
}

/** A JPEG may have its size only after a thumbnail. */
const MAX_SCANNED_BYTES = 64 * 1024

/** Undefined if the file is not a PNG, JPEG, GIF or WebP, or does not contain its size. */
export function imageSize(base64: string): PixelSize | undefined {
  const bytes = Buffer.from(base64.slice(0, MAX_SCANNED_BYTES), "base64")
  const size = sizeIn(bytes)
  return size && size.width > 0 && size.height > 0 ? size : undefined
}

function sizeIn(bytes: Buffer): PixelSize | undefined {
  const begins = (mark: string, at = 0) => bytes.toString("latin1", at, at + mark.length) === mark
  if (bytes.length < 30) return undefined
  if (begins("\x89PNG")) return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (begins("GIF8")) return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  if (begins("RIFF") && begins("WEBP", 8)) return webpSize(bytes, bytes.toString("latin1", 12, 16))
  return begins("\xff\xd8") ? jpegSize(bytes) : undefined
}

function webpSize(bytes: Buffer, chunk: string): PixelSize | undefined {
  if (chunk === "VP8X") return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (chunk === "VP8 ") return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (chunk !== "VP8L") return undefined
  const bits = bytes.readUInt32LE(21)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}

/** The frame header, which follows segments of other kinds, contains the size. */
function jpegSize(bytes: Buffer): PixelSize | undefined {
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1] ?? 0
    if (isFrame(marker)) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    // Any number of fill bytes may precede a marker.
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}
