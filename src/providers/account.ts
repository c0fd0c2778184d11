// Our credential at a provider, and the way there, made ready once so that a call costs no more than it must.
import type { Secret } from "../config/secret.ts"
import type { Send } from "../transport/http-client.ts"
import type { Account, Line, Provider } from "./contract.ts"

export interface AccountOptions {
  /** What targets and answers call it; an installation may have several of one provider. */
  readonly id: string
  readonly baseUrl: string
  readonly credential?: Secret | undefined
  readonly send: Send
}

export function openAccount(provider: Provider, { id, baseUrl, credential, send }: AccountOptions): Account {
  const lines: Record<string, Line> = {}
  for (const [protocol, { path, streamUsage, headers }] of Object.entries(provider.speaks)) {
    lines[protocol] = {
      url: baseUrl + path,
      headers: new Headers({
        "content-type": "application/json",
        // Otherwise Bun asks for compression, and unpacks what it gets.
        "accept-encoding": "identity",
        "user-agent": "trivium",
        ...headers(credential),
      }),
      streamUsage,
    }
  }
  return { id, provider, baseUrl, credential, lines, send }
}
