// A hash table of open items by request. A Map would be rebuilt constantly while as many items come as go, and the
// collector retains its old tables; this one allocates nothing: items of one slot are linked.

export interface ChainedItem<Item> {
  readonly row: { readonly requestId: string }
  /** The next item in its slot. */
  next: Item | undefined
}

const SLOT_COUNT = 4096
/** Request ids begin with the time and end in random characters. */
const LAST_CHARACTERS = 4

export class RequestHashTable<Item extends ChainedItem<Item>> {
  private readonly slots: (Item | undefined)[] = new Array(SLOT_COUNT).fill(undefined)

  get(requestId: string): Item | undefined {
    let item = this.slots[slotOf(requestId)]
    while (item && item.row.requestId !== requestId) item = item.next
    return item
  }

  /** Adds an item of a request that is not in the table. */
  add(item: Item): void {
    const slot = slotOf(item.row.requestId)
    item.next = this.slots[slot]
    this.slots[slot] = item
  }

  /** Undefined if it is not in the table. */
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
  // Uses the upper bits too: names that differ little differ there.
  return (hash ^ (hash >>> 12)) & (SLOT_COUNT - 1)
}
