// The event loop's turns, as far as what came over sockets depends on them.

/**
 * Resolves when the event loop has looked at every socket since now. An immediate runs before the next look at the
 * sockets, and the second one after it.
 */
export function waitFullTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => void setImmediate(resolve))
  })
}
