// A provider as the administration returns it, and the input to store a credential.

export interface ProviderResponse {
  readonly id: string
  readonly type: string
  readonly address: string | null
  /** `configuration`, `store`, `none` or `not needed`. */
  readonly credential: string
  readonly configured: boolean
  readonly source: string | null
  readonly variable: string | null
  readonly hint: string | null
  readonly stored_at: string | null
}

export interface CredentialInput {
  readonly api_key: string
  readonly type?: string
  readonly base_url?: string
  readonly region?: string
  readonly resource?: string
  readonly api_version?: string
}
