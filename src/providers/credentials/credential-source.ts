// Where a credential comes from that has to be fetched, and what is said when it cannot be.
import type { Secret } from "../../config/secret.ts"
import type { Abort } from "../../transport/abort.ts"

/** A credential as it was issued. */
export interface IssuedCredential<Credential> {
  readonly credential: Credential
  /** In Unix milliseconds. */
  readonly expiresAt: number
}

export interface CloudCredentialSource<Credential> {
  /** In words for an operator, such as `instance metadata`. */
  readonly name: string
  /** What an operator can do when it fails. */
  readonly remedy: string
  /** Throws a CredentialError, or what was met on the wire. */
  fetch(abort: Abort): Promise<IssuedCredential<Credential>>
}

/** The keys of a role, for a while. */
export interface AwsKeys {
  readonly accessKeyId: Secret
  readonly secretAccessKey: Secret
  readonly sessionToken?: Secret | undefined
}

/** Why there is no credential. It holds nothing of what a host said but a short code. */
export class CredentialError extends Error {
  override readonly name = "CredentialError"
  constructor(
    message: string,
    /** Whether another try might help: the host could not be reached, or was not well. */
    readonly isPassing: boolean = false,
  ) {
    super(message)
  }
}
