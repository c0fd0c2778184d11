// A set with no garbage: members know their place, so that entering and leaving are a push and a pop. A Set that many
// short-lived members pass through is rehashed and rescanned by the collector all the time.

export interface CompactSetMember {
  /** Kept by the roster; -1 while not in one. */
  place: number
}

export class CompactSet<T extends CompactSetMember> {
  private readonly members: T[] = []

  get size(): number {
    return this.members.length
  }

  enter(member: T): void {
    if (member.place >= 0) return
    member.place = this.members.length
    this.members.push(member)
  }

  leave(member: T): void {
    const { place } = member
    if (place < 0) return
    const last = this.members.pop()
    if (last && last !== member) {
      this.members[place] = last
      last.place = place
    }
    member.place = -1
  }

  /** From the last to the first, so that `visit` may let its member leave. */
  each(visit: (member: T) => void): void {
    for (let at = this.members.length - 1; at >= 0; at--) {
      const member = this.members[at]
      if (member) visit(member)
    }
  }
}
