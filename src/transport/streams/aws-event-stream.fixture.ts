// Writes AWS's event stream, for tests: by the format's description, and not with what reads it.

/** A header's text, or a value of another type as its type and bytes. */
type HeaderValue = string | { readonly type: number; readonly bytes: Uint8Array }

export function encodeEventMessage(
  headers: Readonly<Record<string, HeaderValue>>,
  payload: Uint8Array | string,
): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)))
  const body = Buffer.from(payload as string)
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(12 + head.length + body.length + 4, 0)
  prelude.writeUInt32BE(head.length, 4)
  const checked = Buffer.concat([prelude, checksum(prelude), head, body])
  return Buffer.concat([checked, checksum(checked)])
}

function header(name: string, value: HeaderValue): Buffer {
  const lead = Buffer.concat([Buffer.from([Buffer.byteLength(name)]), Buffer.from(name)])
  if (typeof value !== "string") return Buffer.concat([lead, Buffer.from([value.type]), value.bytes])
  const length = Buffer.alloc(2)
  length.writeUInt16BE(Buffer.byteLength(value))
  return Buffer.concat([lead, Buffer.from([7]), length, Buffer.from(value)])
}

function checksum(bytes: Uint8Array): Buffer {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE((crc ^ 0xffffffff) >>> 0)
  return sum
}
