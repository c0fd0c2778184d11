// Idle connections, by owner and by how long they have been silent. The owner is the tenant of the last response; another
// tenant gets a connection only after a silence, because a faulty host may send a second response. Every operation takes
// constant time.
import { LinkedList, type ListLink } from "./event-loop/linked-list.ts"

export interface IdleConnection {
  readonly owner: string
  /** In the time of the pool. */
  readonly idleSince: number
  readonly byOwner: ListLink<this>
  readonly byAge: ListLink<this>
}

/** After this much silence a connection may be used for another owner. */
export const SILENCE_MS = 1000

export class IdleConnections<Connection extends IdleConnection> {
  /** For each owner, the most recently used last. */
  private readonly owned = new Map<string, LinkedList<Connection>>()
  /** Both in the order in which they fell silent. */
  private readonly young = new LinkedList<Connection>()
  private readonly silent = new LinkedList<Connection>()
  private count = 0

  get size(): number {
    return this.count
  }

  add(connection: Connection): void {
    let own = this.owned.get(connection.owner)
    if (!own) {
      own = new LinkedList()
      this.owned.set(connection.owner, own)
    }
    own.append(connection.byOwner as ListLink<Connection>)
    this.young.append(connection.byAge as ListLink<Connection>)
    this.count++
  }

  remove(connection: Connection): void {
    if (!connection.byOwner.chain) return
    connection.byOwner.leave()
    connection.byAge.leave()
    this.count--
  }

  /** The one its owner used last: others may time out meanwhile. */
  takeOwn(owner: string): Connection | undefined {
    return this.taken(this.owned.get(owner)?.last)
  }

  /** Of any owner: the connection that became idle last, among those idle long enough. */
  takeSilent(now: number): Connection | undefined {
    const { young, silent } = this
    for (let link = young.first; link && now - link.member.idleSince >= SILENCE_MS; link = young.first) {
      young.remove(link)
      silent.append(link)
    }
    return this.taken(silent.last)
  }

  takeOldest(): Connection | undefined {
    return this.taken(this.silent.first ?? this.young.first)
  }

  /** Takes the oldest if it has been idle since before then. */
  takeIdleSince(before: number): Connection | undefined {
    const oldest = this.silent.first ?? this.young.first
    return oldest && oldest.member.idleSince < before ? this.taken(oldest) : undefined
  }

  /** Forgets owners that have no connection here. Now and then: most come back at once. */
  forgetOwners(): void {
    for (const [owner, { first }] of this.owned) if (!first) this.owned.delete(owner)
  }

  private taken(link: ListLink<Connection> | undefined): Connection | undefined {
    if (link) this.remove(link.member)
    return link?.member
  }
}
