// Caches a fetched credential: one fetch at a time for all callers, the next one before the credential expires, and a
// pause after a failure.
import { Secret } from "../../config/secret.ts"
import { Abort } from "../../transport/abort.ts"
import { toSendError } from "../../transport/http-client.ts"
import { TransportError } from "../../transport/transport-error.ts"
import { type CloudCredentialSource, CredentialError, type IssuedCredential } from "./credential-source.ts"

/** A credential that expires within this time is refreshed, and used until the new one arrives. */
const AHEAD_MS = 5 * 60_000
/** A credential this close to its end might expire on the way. */
const SPARE_MS = 30_000
/** Metadata servers return the same credential until shortly before it expires. */
const SAME_AGAIN_MS = 30_000
/** The pause after a failed fetch; it doubles with each further failure. */
const PAUSE_MS = { first: 1000, most: 8000 }
const FETCH_MS = 10_000

export interface RefresherOptions {
  readonly now?: () => number
  /** Called for every failed fetch. */
  readonly onFailure?: ((error: CredentialError) => void) | undefined
  /** Time limit of one fetch, all its requests together. */
  readonly fetchMs?: number
}

export class CredentialRefresher<Credential extends object> {
  private held: IssuedCredential<Credential> | undefined
  private before: IssuedCredential<Credential> | undefined
  private fetching: Promise<IssuedCredential<Credential>> | undefined
  private failed: { readonly error: CredentialError; readonly pauseMs: number } | undefined
  /** No fetch before this time, unless there is no credential after a success. */
  private quietUntil = 0
  private readonly now: () => number

  constructor(
    readonly source: CloudCredentialSource<Credential>,
    private readonly options: RefresherOptions = {},
  ) {
    this.now = options.now ?? Date.now
  }

  /** The current credential, if it is valid for some time yet. */
  current(): Credential | undefined {
    const { held } = this
    const leftMs = (held?.expiresAt ?? 0) - this.now()
    if (!held || leftMs < SPARE_MS) return undefined
    if (leftMs < AHEAD_MS && this.now() >= this.quietUntil) this.refresh().catch(() => {})
    return held.credential
  }

  /** Rejects with a CredentialError. */
  async get(): Promise<Credential> {
    const ready = this.current()
    if (ready) return ready
    try {
      return (await this.refresh()).credential
    } catch (thrown) {
      if (this.held && this.held.expiresAt > this.now()) return this.held.credential
      throw thrown
    }
  }

  /** Called when the provider has rejected this credential, so that the next call gets another. */
  forget(credential: Credential): void {
    if (this.held?.credential === credential) this.hold(undefined)
  }

  /** All secrets, including those of the previous credential, which calls in flight still use. */
  secrets(): Secret[] {
    return [this.held, this.before].flatMap((issued) => (issued ? secretsOf(issued.credential) : []))
  }

  private refresh(): Promise<IssuedCredential<Credential>> {
    if (this.fetching) return this.fetching
    if (this.failed && this.now() < this.quietUntil) return Promise.reject(this.failed.error)
    this.fetching = this.fetch().finally(() => {
      this.fetching = undefined
    })
    return this.fetching
  }

  private async fetch(): Promise<IssuedCredential<Credential>> {
    const abort = new Abort()
    const { fetchMs = FETCH_MS } = this.options
    const limit = setTimeout(() => abort.abort(new TransportError("connect-timeout")), fetchMs)
    try {
      const issued = await Promise.race([this.source.fetch(abort), rejectOnAbort(abort)])
      this.hold(issued)
      this.failed = undefined
      this.quietUntil = this.now() + SAME_AGAIN_MS
      return issued
    } catch (thrown) {
      const error = this.explain(thrown, abort)
      const pauseMs = Math.min(this.failed ? this.failed.pauseMs * 2 : PAUSE_MS.first, PAUSE_MS.most)
      this.failed = { error, pauseMs }
      this.quietUntil = this.now() + pauseMs
      this.options.onFailure?.(error)
      throw error
    } finally {
      clearTimeout(limit)
    }
  }

  private hold(issued: IssuedCredential<Credential> | undefined): void {
    this.before = this.held ?? this.before
    this.held = issued
  }

  private explain(thrown: unknown, abort: Abort): CredentialError {
    const { name, remedy } = this.source
    if (thrown instanceof CredentialError) {
      return new CredentialError(`${name}: ${thrown.message}. ${remedy}`, thrown.isPassing)
    }
    const met = toSendError(thrown, abort)
    const fault = met instanceof TransportError ? met.fault : "unknown"
    return new CredentialError(`${name}: no answer (${fault}). ${remedy}`, true)
  }
}

/** A fetch may also wait for a file, which no abort ends. */
function rejectOnAbort({ signal }: Abort): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  })
}

function secretsOf(credential: object): Secret[] {
  const parts = credential instanceof Secret ? [credential] : Object.values(credential)
  return parts.filter((part) => part instanceof Secret)
}
