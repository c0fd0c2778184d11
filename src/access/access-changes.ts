// Tracks which keys and tenants have changed, so that caches drop only the entries of those.

const MAX_REMEMBERED_CHANGES = 10_000

export class AccessChanges {
  private count = 0
  private readonly keys = new Map<string, number>()
  private readonly tenants = new Map<string, number>()

  /** Calls `onForgotten` when there were too many changes to remember: anything read earlier may be stale. */
  constructor(private readonly onForgotten: () => void) {}

  /** Marks this moment among the changes. */
  get now(): number {
    return this.count
  }

  noteKey(id: string): void {
    this.note(this.keys, id)
  }

  noteTenant(name: string): void {
    this.note(this.tenants, name)
  }

  /** True if the key or its tenant has changed after that moment. */
  hasChangedSince(moment: number, { id, tenant }: { readonly id: string; readonly tenant: string }): boolean {
    if (this.count === moment) return false
    return (this.keys.get(id) ?? 0) > moment || (this.tenants.get(tenant) ?? 0) > moment
  }

  private note(changed: Map<string, number>, name: string): void {
    if (this.keys.size + this.tenants.size >= MAX_REMEMBERED_CHANGES) {
      this.keys.clear()
      this.tenants.clear()
      this.onForgotten()
    }
    changed.set(name, ++this.count)
  }
}
