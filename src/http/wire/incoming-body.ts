// The body of a request while it arrives: handed over whole, or in pieces as they are read. What is not read holds the
// client back.

/** So many bytes wait to be read before the client is held back. */
const MAX_WAITING = 256 * 1024

export interface BodyFlow {
  /** Nothing more shall come for now, or shall again. */
  hold(isHeld: boolean): void
  /** Reading begins: a client that waits for `100 Continue` may send. */
  begin(): void
}

type BodyPiece = { readonly done: false; readonly value: Uint8Array } | { readonly done: true }

interface BodyWaiter {
  readonly resolve: () => void
  readonly reject: (cause: unknown) => void
}

const NOTHING = new Uint8Array(0)

export class IncomingBody {
  isComplete: boolean
  private pieces: Uint8Array[] = []
  private size = 0
  private isHeld = false
  private isDropped = false
  private failure: { readonly cause: unknown } | undefined
  private waiting: BodyWaiter | undefined

  constructor(
    private readonly flow: BodyFlow,
    { isComplete }: { readonly isComplete: boolean },
  ) {
    this.isComplete = isComplete
  }

  /** The whole body, which has to be small: at once where it is there. */
  bytes(): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
    if (this.isComplete) return this.whole()
    this.flow.begin()
    return this.allArrived()
  }

  /** The next piece; one call at a time. */
  async read(): Promise<BodyPiece> {
    if (!this.isComplete) this.flow.begin()
    while (this.pieces.length === 0) {
      if (this.failure) throw this.failure.cause
      if (this.isComplete || this.isDropped) return { done: true }
      await this.more()
    }
    const value = this.pieces.shift() ?? NOTHING
    this.size -= value.byteLength
    this.letGo()
    return { done: false, value }
  }

  /** Discards the rest of the body. */
  async cancel(): Promise<void> {
    this.drop()
    this.wake()
  }

  /** What has come is not kept, nor what will. */
  drop(): void {
    this.isDropped = true
    this.pieces = []
    this.size = 0
    this.letGo()
  }

  add(piece: Uint8Array): void {
    if (this.isDropped) return
    this.pieces.push(piece)
    this.size += piece.byteLength
    if (this.size > MAX_WAITING && !this.isHeld) {
      this.isHeld = true
      this.flow.hold(true)
    }
    this.wake()
  }

  end(): void {
    this.isComplete = true
    this.wake()
  }

  fail(cause: unknown): void {
    this.failure ??= { cause }
    const { waiting } = this
    this.waiting = undefined
    waiting?.reject(cause)
  }

  private async allArrived(): Promise<Uint8Array<ArrayBuffer>> {
    while (!this.isComplete) {
      if (this.failure) throw this.failure.cause
      await this.more()
    }
    return this.whole()
  }

  private whole(): Uint8Array<ArrayBuffer> {
    const [first = NOTHING, ...others] = this.pieces
    this.pieces = []
    const bytes = others.length === 0 ? first : Buffer.concat([first, ...others])
    return bytes as Uint8Array<ArrayBuffer>
  }

  private more(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject }
    })
  }

  private wake(): void {
    const { waiting } = this
    this.waiting = undefined
    waiting?.resolve()
  }

  private letGo(): void {
    if (!this.isHeld || this.size > MAX_WAITING / 2) return
    this.isHeld = false
    this.flow.hold(false)
  }
}
