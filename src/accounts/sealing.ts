// Seals texts that rest in the store: whoever reads the file without our secret reads nothing, and a sealed text that
// was moved to another place does not open there.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto"
import type { Secret } from "../config/secret.ts"

const CIPHER = "aes-256-gcm"
const NONCE_BYTES = 12
const TAG_BYTES = 16

export class Sealer {
  private readonly keys: readonly Buffer[]

  /** The first seals; any opens, so that a secret can be replaced. */
  constructor(secrets: readonly Secret[]) {
    this.keys = secrets.map((secret) => Buffer.from(hkdfSync("sha256", secret.reveal(), "", "trivium sealing", 32)))
  }

  /** `place` says where it belongs; it opens there only. */
  seal(text: string, place: string): string {
    const [key] = this.keys
    if (!key) throw new Error("no secret to seal with")
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(place))
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64")
  }

  /** The text; undefined where it was sealed for another place, with another secret, or has been changed. */
  open(sealed: string, place: string): string | undefined {
    const bytes = Buffer.from(sealed, "base64")
    for (const key of this.keys) {
      const text = opened(bytes, key, place)
      if (text !== undefined) return text
    }
    return undefined
  }
}

function opened(bytes: Buffer, key: Buffer, place: string): string | undefined {
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(place))
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8")
  } catch {
    return undefined
  }
}
