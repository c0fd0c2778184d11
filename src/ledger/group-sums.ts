// The sums that one transaction reads and moves: each account and each day of spending is read once, and written once
// at the end, however many operations of the group touch it.
import type { LedgerAccountRow, LedgerTable } from "../store/contract.ts"

interface Account {
  readonly id: bigint
  readonly name: string
  readonly floorNano: bigint | null
  postedNano: bigint
  heldNano: bigint
}

interface Moved {
  postedNano: bigint
  heldNano: bigint
}

interface Spent {
  spentNano: bigint
  heldNano: bigint
}

export class GroupSums {
  /** As they are with what the transaction has moved. */
  private readonly byId = new Map<bigint, Account>()
  private readonly byName = new Map<string, bigint | undefined>()
  private readonly moved = new Map<bigint, Moved>()
  /** By holder, then by day. */
  private readonly spending = new Map<string, Map<number, Spent>>()

  constructor(private readonly table: LedgerTable) {}

  reset(): void {
    this.byId.clear()
    this.byName.clear()
    this.moved.clear()
    this.spending.clear()
  }

  /** Here the conditions hold once more, in the store's own words. */
  finish(): void {
    for (const [id, by] of this.moved) this.write(id, by)
    for (const [holder, days] of this.spending) {
      for (const [day, { spentNano, heldNano }] of days) this.table.spend.add(holder, { day, spentNano, heldNano })
    }
  }

  find(name: string): LedgerAccountRow | undefined {
    if (!this.byName.has(name)) this.byName.set(name, this.keep(this.table.accounts.find(name))?.id)
    const id = this.byName.get(name)
    return id === undefined ? undefined : this.get(id)
  }

  get(id: bigint): LedgerAccountRow {
    const account = this.byId.get(id) ?? this.keep(this.table.accounts.get(id))
    if (!account) throw new Error(`the ledger has no account ${id}`)
    return account
  }

  open(name: string, floorNano: bigint | null): LedgerAccountRow {
    const row = this.table.accounts.insert(name, floorNano)
    this.byName.set(name, row.id)
    this.keep(row)
    return row
  }

  /** The store's floor changes at once, so what was moved before has to be there. */
  setFloor(id: bigint, floorNano: bigint | null): void {
    const by = this.moved.get(id)
    if (by) this.write(id, by)
    this.moved.delete(id)
    this.byId.delete(id)
    if (!this.table.accounts.setFloor(id, floorNano)) throw new Error(`account ${id} is below the floor it is given`)
  }

  /** Adds to what is posted. */
  post(id: bigint, nano: bigint): void {
    if (nano === 0n) return
    this.movedOf(id).postedNano += nano
    const account = this.byId.get(id)
    if (account) account.postedNano += nano
  }

  /** Adds to what is held, or takes away. */
  hold(id: bigint, nano: bigint): void {
    this.movedOf(id).heldNano += nano
    const account = this.byId.get(id)
    if (account) account.heldNano += nano
  }

  spend(holder: string, { day, spentNano, heldNano }: Readonly<Spent> & { readonly day: number }): void {
    const days = this.spending.get(holder) ?? new Map<number, Spent>()
    const spent = days.get(day)
    if (spent) {
      spent.spentNano += spentNano
      spent.heldNano += heldNano
    } else this.spending.set(holder, days.set(day, { spentNano, heldNano }))
  }

  /** Spent and held together, from one day to another, both included; without days, since ever. */
  spentOf(holder: string, days?: { readonly from: number; readonly to: number }): bigint {
    const { spend } = this.table
    let nano = days ? spend.between(holder, days) : spend.total(holder)
    for (const [day, { spentNano, heldNano }] of this.spending.get(holder) ?? []) {
      if (!days || (day >= days.from && day <= days.to)) nano += spentNano + heldNano
    }
    return nano
  }

  private write(id: bigint, by: Readonly<Moved>): void {
    if (!this.table.accounts.move(id, by)) throw new Error(`account ${id} would be below its floor`)
  }

  private movedOf(id: bigint): Moved {
    const known = this.moved.get(id)
    if (known) return known
    const moved = { postedNano: 0n, heldNano: 0n }
    this.moved.set(id, moved)
    return moved
  }

  /** A row as the store has it, from now on with what is moved. */
  private keep(row: LedgerAccountRow | undefined): Account | undefined {
    if (!row) return undefined
    const known = this.byId.get(row.id)
    if (known) return known
    const moved = this.moved.get(row.id)
    const account = { ...row }
    account.postedNano += moved?.postedNano ?? 0n
    account.heldNano += moved?.heldNano ?? 0n
    this.byId.set(row.id, account)
    return account
  }
}
