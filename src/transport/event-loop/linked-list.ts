// A doubly linked list whose members hold their links, so that any of them leaves without a search and nothing is
// allocated when one comes or goes.

/** A member of several chains has a link for each. */
export class ListLink<Member> {
  /** The chain it is in; undefined while in none. */
  chain: LinkedList<Member> | undefined
  before: ListLink<Member> | undefined
  after: ListLink<Member> | undefined

  constructor(readonly member: Member) {}

  leave(): void {
    this.chain?.remove(this)
  }
}

export class LinkedList<Member> {
  first: ListLink<Member> | undefined
  last: ListLink<Member> | undefined

  /** Puts it last; it may not be in a chain. */
  append(link: ListLink<Member>): void {
    link.chain = this
    link.before = this.last
    if (this.last) this.last.after = link
    else this.first = link
    this.last = link
  }

  remove(link: ListLink<Member>): void {
    const { before, after } = link
    if (before) before.after = after
    else this.first = after
    if (after) after.before = before
    else this.last = before
    link.chain = undefined
    link.before = undefined
    link.after = undefined
  }
}
