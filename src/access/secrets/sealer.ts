// Seals texts in the store: without the gateway's secret the file reveals nothing, and a sealed text that was moved to
// another record does not open there.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto"
import type { Secret } from "../../config/secret.ts"

const CIPHER = "aes-256-gcm"
const NONCE_BYTES = 12
const TAG_BYTES = 16

export class Sealer {
  private readonly keys: readonly Buffer[]

  /** The first secret seals; all of them open, so that a secret can be replaced. */
  constructor(secrets: readonly Secret[]) {
    this.keys = secrets.map((secret) => Buffer.from(hkdfSync("sha256", secret.reveal(), "", "trivium sealing", 32)))
  }

  /** `context` binds the text to one record; it opens only with the same context. */
  seal(text: string, context: string): string {
    return this.sealBytes(Buffer.from(text), context).toString("base64")
  }

  sealBytes(plain: Uint8Array, context: string): Buffer {
    const [key] = this.keys
    if (!key) throw new Error("no secret to seal with")
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context))
    const sealed = [cipher.update(plain), cipher.final()]
    return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed])
  }

  /** The text; undefined if the context or the secret differs, or the bytes were changed. */
  open(sealed: string, context: string): string | undefined {
    return this.openBytes(Buffer.from(sealed, "base64"), context)?.toString("utf8")
  }

  openBytes(sealed: Uint8Array, context: string): Buffer | undefined {
    for (const key of this.keys) {
      const plain = openWithKey(sealed, key, context)
      if (plain !== undefined) return plain
    }
    return undefined
  }
}

function openWithKey(bytes: Uint8Array, key: Buffer, context: string): Buffer | undefined {
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(context))
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
  } catch {
    return undefined
  }
}
