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
  const moved = baseUrl !== provider.baseUrl
  for (const [protocol, { streamUsage, headers, baseUrl: apart }] of Object.entries(provider.speaks)) {
    // An operator who gives another address says nothing of what stands beside it.
    if (apart !== undefined && moved) continue
    const own = {
      "content-type": "application/json",
      // Otherwise Bun asks for compression, and unpacks what it gets.
      "accept-encoding": "identity",
      "user-agent": "trivium",
      ...headers(credential),
    }
    lines[protocol] = { baseUrl: apart ?? baseUrl, streamUsage, headersWith: remembered(own) }
  }
  return { id, provider, baseUrl, credential, lines, send }
}

const MAX_REMEMBERED = 100

/** Callers send few different headers along, so what is made of them is kept. */
function remembered(own: Readonly<Record<string, string>>): Line["headersWith"] {
  const plain = new Headers(own)
  const known = new Map<string, Headers>()
  return (others) => {
    const names = Object.keys(others)
    if (names.length === 0) return plain
    const key = names.map((name) => `${name}:${others[name]}`).join("\n")
    const ready = known.get(key)
    if (ready) return ready
    const made = new Headers({ ...others, ...own })
    if (known.size >= MAX_REMEMBERED) known.clear()
    known.set(key, made)
    return made
  }
}
