// Signatures and encrypted reasoning: opaque to us, and of use only to whoever made them.

export interface Sealed {
  /** Who made it; it is only ever sent back there. */
  readonly mintedBy: string
  readonly data: string
}
