// A request on a kept connection that its host closed meanwhile may be sent again on a fresh one, beside the attempts that
// are made anyway: once for each exchange, however many attempts that makes.

export class ResendAllowance {
  private isLeft = true

  /** Whether it was left; it is not afterwards. */
  take(): boolean {
    const { isLeft } = this
    this.isLeft = false
    return isLeft
  }
}
