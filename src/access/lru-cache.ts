// A bounded cache of two generations. A used entry moves to the young one; when that is full it becomes the old one,
// and the previous old one is dropped as a whole: no sorting, no search.

export class LruCache<Value extends object> {
  private young = new Map<string, Value>()
  private old = new Map<string, Value>()

  /** Keeps at most this many entries, and at least the most recently used half. */
  constructor(private readonly most: number) {}

  get(name: string): Value | undefined {
    const value = this.young.get(name)
    if (value) return value
    const aged = this.old.get(name)
    if (aged) this.set(name, aged)
    return aged
  }

  set(name: string, value: Value): void {
    if (this.young.size >= this.most / 2) {
      this.old = this.young
      this.young = new Map()
    }
    this.young.set(name, value)
  }

  delete(name: string): void {
    this.young.delete(name)
    this.old.delete(name)
  }

  clear(): void {
    this.young.clear()
    this.old.clear()
  }
}
