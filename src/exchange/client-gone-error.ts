/** The client has left. The cause is the failure up to then, if any. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError"
}
