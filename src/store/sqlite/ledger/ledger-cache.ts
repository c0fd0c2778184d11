// A bounded cache by name. When it is full, entries not read since it was half full are evicted.

export class LedgerCache<Value> {
  private young = new Map<string, Value>()
  private old = new Map<string, Value>()
  /** Most entries are read several times in a row. */
  private lastName: string | undefined
  private lastValue: Value | undefined

  constructor(private readonly most: number) {}

  get size(): number {
    return this.young.size + this.old.size
  }

  get(name: string): Value | undefined {
    if (name === this.lastName) return this.lastValue
    const value = this.young.get(name) ?? this.aged(name)
    this.lastName = name
    this.lastValue = value
    return value
  }

  set(name: string, value: Value): void {
    this.young.set(name, value)
    this.lastName = undefined
  }

  /** The only place that evicts, never within a transaction. False if nothing was evicted. */
  trim(): boolean {
    if (this.young.size < this.most / 2) return false
    this.old = this.young
    this.young = new Map()
    this.lastName = undefined
    return true
  }

  clear(): void {
    this.young.clear()
    this.old.clear()
    this.lastName = undefined
  }

  private aged(name: string): Value | undefined {
    const value = this.old.size > 0 ? this.old.get(name) : undefined
    if (value !== undefined) this.young.set(name, value)
    return value
  }
}
