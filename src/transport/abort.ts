// Says that a call is to end, and why. An AbortController does the same, but costs every call more than most need: here
// one is made only for who asks for its signal.

export class Abort {
  aborted = false
  reason: unknown
  /** Called once; a later listener replaces it. */
  onAbort: (() => void) | undefined
  private controller: AbortController | undefined

  /** The first reason counts. */
  abort(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.onAbort?.()
    this.controller?.abort(reason)
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController()
      if (this.aborted) this.controller.abort(this.reason)
    }
    return this.controller.signal
  }
}
