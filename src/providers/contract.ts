// Who speaks what, where. A provider is data; what it says is the protocols' business.
import type { Secret } from "../config/secret.ts"
import type { Send } from "../transport/http-client.ts"

export interface Provider {
  readonly id: string
  readonly name: string
  /** What the vendor's own client library would be given; absent where each installation has its own. */
  readonly baseUrl?: string
  /** The variable the vendor's own tools read the credential from. */
  readonly environmentVariable?: string
  /** Whether a call needs a credential at all. */
  readonly needsCredential: boolean
  /** By protocol id. */
  readonly speaks: Readonly<Record<string, Dialect>>
}

/** How a provider speaks one protocol. */
export interface Dialect {
  /** Where this protocol is spoken, if not at the provider's base address. */
  readonly baseUrl?: string
  /** Whether usage inside a stream must be asked for, or comes unasked. */
  readonly streamUsage: "ask" | "sent"
  /** What proves who we are, and what else every call must say. */
  headers(credential: Secret | undefined): Record<string, string>
}

/** Our credential at a provider, and the ways to speak to it. */
export interface Account {
  readonly id: string
  readonly provider: Provider
  readonly baseUrl: string
  readonly credential?: Secret | undefined
  /** By protocol id. */
  readonly lines: Readonly<Record<string, Line>>
  readonly send: Send
}

/** One protocol at one account, ready to be called. */
export interface Line {
  /** What a protocol's paths are appended to. */
  readonly baseUrl: string
  /** The headers of a call: the provider's own, and these of the protocol's. */
  headersWith(others: Readonly<Record<string, string>>): Headers
  readonly streamUsage: Dialect["streamUsage"]
}
