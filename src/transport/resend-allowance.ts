// A request may be sent again on a fresh connection if the host had closed the idle one: once per exchange, in addition to
// its attempts.

export class ResendAllowance {
  private isLeft = true

  /** Whether it was left; it is not afterwards. */
  take(): boolean {
    const { isLeft } = this
    this.isLeft = false
    return isLeft
  }
}
