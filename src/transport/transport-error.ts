// What can go wrong between us and an upstream.

export type TransportFault = "connect" | "connect-timeout" | "reset" | "too-large"

export class TransportError extends Error {
  override readonly name = "TransportError"
  constructor(
    readonly fault: TransportFault,
    cause?: unknown,
  ) {
    super(`upstream ${fault}`, { cause })
  }
}
