// Sources of credentials that have to be fetched, and the error of a failed fetch.
import type { Secret } from "../../config/secret.ts"
import type { Abort } from "../../transport/abort.ts"

/** An issued credential. */
export interface IssuedCredential<Credential> {
  readonly credential: Credential
  /** In Unix milliseconds. */
  readonly expiresAt: number
}

export interface CloudCredentialSource<Credential> {
  /** A name for an operator, such as `instance metadata`. */
  readonly name: string
  /** Advice for an operator if it fails. */
  readonly remedy: string
  /** Throws a CredentialError, or a network error. */
  fetch(abort: Abort): Promise<IssuedCredential<Credential>>
}

/** The temporary keys of a role. */
export interface AwsKeys {
  readonly accessKeyId: Secret
  readonly secretAccessKey: Secret
  readonly sessionToken?: Secret | undefined
}

/** The reason there is no credential. It contains at most a short code of the host's response. */
export class CredentialError extends Error {
  override readonly name = "CredentialError"
  constructor(
    message: string,
    /** True if a retry may help: the host could not be reached, or returned a server error. */
    readonly isPassing: boolean = false,
  ) {
    super(message)
  }
}
