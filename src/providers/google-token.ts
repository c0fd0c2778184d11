// Google's access tokens for a service account: a statement signed with its key is exchanged for one, which is kept and
// renewed before it ends, once for all calls that wait for it.
import { createSign } from "node:crypto"
import type { ServiceAccount } from "../config/config.ts"
import { Secret } from "../config/secret.ts"
import { Abort } from "../transport/abort.ts"
import { decodeUtf8 } from "../transport/byte-text.ts"
import { httpSend, type Send } from "../transport/http-client.ts"
import { readAll } from "../transport/read-all.ts"
import { TransportError } from "../transport/transport-error.ts"

const SCOPE = "https://www.googleapis.com/auth/cloud-platform"
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
const LIFETIME_S = 3600
const EXCHANGE_MS = 10_000
/** A token that ends within this time is renewed, and used until the new one is there. */
const RENEW_BEFORE_MS = 5 * 60_000
/** Near its end it might end on the way. */
const SPARE_MS = 30_000
/** Calls that come in this time after an exchange failed share its failure. */
const FAILURE_MS = 1000
const MAX_ANSWER_BYTES = 64 * 1024

/** The exchange was answered, but not with a token. */
export class TokenRefusedError extends Error {
  override readonly name = "TokenRefusedError"
  constructor(
    readonly status: number,
    /** The vendor's word for it, such as `invalid_grant`. */
    readonly reason: string,
  ) {
    super(`the token exchange was answered with status ${status} (${reason})`)
  }
}

interface Token {
  readonly secret: Secret
  readonly endsAt: number
}

interface GoogleTokensOptions {
  readonly send?: Send
  readonly now?: () => number
}

export class GoogleTokens {
  private readonly send: Send
  private readonly now: () => number
  private held: Token | undefined
  private exchange: Promise<Token> | undefined

  constructor(
    private readonly account: ServiceAccount,
    { send = httpSend, now = Date.now }: GoogleTokensOptions = {},
  ) {
    this.send = send
    this.now = now
  }

  get current(): Secret | undefined {
    return this.held?.secret
  }

  /** A token that is valid for some time yet. */
  async token(): Promise<Secret> {
    const leftMs = (this.held?.endsAt ?? 0) - this.now()
    if (!this.held || leftMs < SPARE_MS) return (await this.renewed()).secret
    if (leftMs < RENEW_BEFORE_MS) this.renewed().catch(() => {})
    return this.held.secret
  }

  /** Called when the provider has refused this token, so that the next call gets another. */
  forget(secret: Secret): void {
    if (this.held?.secret === secret) this.held = undefined
  }

  private renewed(): Promise<Token> {
    this.exchange ??= this.exchanged()
    return this.exchange
  }

  private async exchanged(): Promise<Token> {
    try {
      this.held = await this.ask()
      this.exchange = undefined
      return this.held
    } catch (thrown) {
      setTimeout(() => {
        this.exchange = undefined
      }, FAILURE_MS).unref()
      throw thrown
    }
  }

  private async ask(): Promise<Token> {
    const abort = new Abort()
    const limit = setTimeout(() => abort.abort(new TransportError("connect-timeout")), EXCHANGE_MS)
    try {
      const assertion = signedStatement(this.account, this.now())
      const response = await this.send({
        url: this.account.tokenUri,
        headers: new Headers({ "content-type": "application/x-www-form-urlencoded", "accept-encoding": "identity" }),
        body: new URLSearchParams({ grant_type: GRANT, assertion }).toString(),
        abort,
        connectMs: EXCHANGE_MS,
      })
      const text = decodeUtf8(await readAll(response, MAX_ANSWER_BYTES))
      return readToken(response.status, text, this.now())
    } catch (thrown) {
      throw abort.aborted ? abort.reason : thrown
    } finally {
      clearTimeout(limit)
    }
  }
}

function readToken(status: number, text: string, now: number): Token {
  const said = membersOf(text)
  const { access_token: token, expires_in: seconds } = said
  if (status !== 200 || typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
    throw new TokenRefusedError(status, wordOf(said.error))
  }
  const lifetimeMs = (typeof seconds === "number" && seconds > 0 ? seconds : LIFETIME_S) * 1000
  return { secret: new Secret(token), endsAt: now + lifetimeMs }
}

function membersOf(text: string): Record<string, unknown> {
  try {
    return { ...JSON.parse(text) }
  } catch {
    return {}
  }
}

function wordOf(value: unknown): string {
  return typeof value === "string" && /^[a-z_]{1,50}$/.test(value) ? value : "no reason given"
}

/** A JSON web token in which the account asks for access, signed with its key. */
function signedStatement({ clientEmail, privateKey, privateKeyId, tokenUri }: ServiceAccount, now: number): string {
  const issuedAt = Math.floor(now / 1000)
  const head = { alg: "RS256", typ: "JWT", ...(privateKeyId !== undefined && { kid: privateKeyId }) }
  const claims = { iss: clientEmail, scope: SCOPE, aud: tokenUri, iat: issuedAt, exp: issuedAt + LIFETIME_S }
  const said = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")
  const signature = createSign("RSA-SHA256").update(said).sign(privateKey.reveal(), "base64url")
  return `${said}.${signature}`
}
