// A driver holds a conversation with the protocol's official library and reports the values of the library's own
// objects.
import type { ClientProtocol } from "../axes.ts"
import type { ClientFailure, ClientOutcome, ClientReply, FinishKind, MatrixRequest } from "../conversation.ts"

export interface MatrixClient {
  readonly protocol: ClientProtocol
  /** The library's name at npm. */
  readonly library: string
  /** Its protocol's words for how an answer ended. */
  readonly endings: Readonly<Record<FinishKind, readonly string[]>>
  send(ask: MatrixRequest, options: { readonly stream: boolean }): Promise<ClientOutcome>
}

export interface MatrixConnection {
  readonly gateway: GatewayAddress
  readonly key: string
  readonly model: string
}

/** The base address for each library. */
export interface GatewayAddress {
  readonly openai: string
  readonly anthropic: string
  readonly gemini: string
}

export const LOSSES_HEADER = "x-gateway-losses"

/** A call is given up after this long: a stream that neither ends nor fails is a failure. */
export const PATIENCE_MS = 10_000

/** The outcome of a call, an answer or an error. */
export async function outcomeOf(
  call: (pieces: string[]) => Promise<ClientReply>,
  failureOf: (thrown: unknown) => ClientFailure,
): Promise<ClientOutcome> {
  const pieces: string[] = []
  try {
    return { pieces, reply: await call(pieces) }
  } catch (thrown) {
    return { pieces, failure: failureOf(thrown) }
  }
}

/** A `fetch` that remembers the header of the last answer, which not every library shows. */
export class ListeningFetch {
  losses: string | undefined

  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init)
    this.losses = response.headers.get(LOSSES_HEADER) ?? undefined
    return response
  }
}
