// What is open, by its request. A Map would be made anew again and again while as many come as go, and the collector
// keeps what its old tables hold; here nothing is made: those that share a place are linked to each other.

export interface ChainedItem<Item> {
  readonly row: { readonly requestId: string }
  /** The next one at its place. */
  next: Item | undefined
}

const SLOT_COUNT = 4096
/** Requests are named as time goes, and by chance at the end. */
const LAST_CHARACTERS = 4

export class RequestHashTable<Item extends ChainedItem<Item>> {
  private readonly slots: (Item | undefined)[] = new Array(SLOT_COUNT).fill(undefined)

  get(requestId: string): Item | undefined {
    let item = this.slots[slotOf(requestId)]
    while (item && item.row.requestId !== requestId) item = item.next
    return item
  }

  /** Of a request that is not here. */
  add(item: Item): void {
    const slot = slotOf(item.row.requestId)
    item.next = this.slots[slot]
    this.slots[slot] = item
  }

  /** Undefined where it is not here. */
  remove(requestId: string): Item | undefined {
    const slot = slotOf(requestId)
    let before: Item | undefined
    let item = this.slots[slot]
    while (item && item.row.requestId !== requestId) {
      before = item
      item = item.next
    }
    if (!item) return undefined
    if (before) before.next = item.next
    else this.slots[slot] = item.next
    item.next = undefined
    return item
  }

  *all(): Generator<Item> {
    for (const first of this.slots) for (let item = first; item; item = item.next) yield item
  }

  clear(): void {
    this.slots.fill(undefined)
  }
}

function slotOf(requestId: string): number {
  const { length } = requestId
  let hash = 0
  for (let at = Math.max(0, length - LAST_CHARACTERS); at < length; at++)
    hash = (Math.imul(hash, 31) + requestId.charCodeAt(at)) | 0
  // Its upper part too: what is alike in all characters shows there.
  return (hash ^ (hash >>> 12)) & (SLOT_COUNT - 1)
}
