// Reads one object of the catalogue's files, member by member. A problem names the entry and the member; reading
// continues with a placeholder, because a catalogue with a problem is rejected as a whole.

type JsonMembers = Readonly<Record<string, unknown>>

export class MemberReader {
  private readonly members: JsonMembers

  private readonly where: string
  private readonly problems: string[]

  constructor(value: unknown, { where, problems }: { where: string; problems: string[] }) {
    this.where = where
    this.problems = problems
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
    this.members = isObject ? (value as JsonMembers) : {}
    if (!isObject) this.problems.push(`${where}: expected an object, found ${JSON.stringify(value)}`)
  }

  /** The names of its members. */
  names(): string[] {
    return Object.keys(this.members)
  }

  has(name: string): boolean {
    return this.members[name] !== undefined
  }

  text(name: string, { like, what }: { like: RegExp; what: string }): string {
    const value = this.members[name]
    if (typeof value === "string" && like.test(value)) return value
    this.wrong(name, what)
    return ""
  }

  whole(name: string, { min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number }): number {
    const value = this.members[name]
    if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) return Number(value)
    this.wrong(name, `a whole number, at least ${min}${max === Number.MAX_SAFE_INTEGER ? "" : ` and at most ${max}`}`)
    return min
  }

  flag(name: string): boolean {
    const value = this.members[name]
    if (typeof value !== "boolean") this.wrong(name, "true or false")
    return value === true
  }

  word<const Word extends string>(name: string, words: readonly [Word, ...Word[]]): Word {
    const value = this.members[name]
    const word = words.find((candidate) => candidate === value)
    if (word === undefined) this.wrong(name, `one of ${words.join(", ")}`)
    return word ?? words[0]
  }

  words<const Word extends string>(name: string, words: readonly [Word, ...Word[]]): Word[] {
    const values = this.list(name)
    const known = words.filter((word) => values.includes(word))
    if (known.length !== values.length) this.wrong(name, `a list of ${words.join(", ")}, each once`)
    return known
  }

  list(name: string, { atLeast = 1 }: { atLeast?: number } = {}): readonly unknown[] {
    const value = this.members[name]
    if (Array.isArray(value) && value.length >= atLeast) return value
    this.wrong(name, `a list of at least ${atLeast}`)
    return []
  }

  /** A nested object. */
  inner(name: string, value: unknown = this.members[name]): MemberReader {
    return new MemberReader(value, { where: this.path(name), problems: this.problems })
  }

  /** Reports a problem across several members. */
  report(name: string, message: string): void {
    this.problems.push(`${this.path(name)}: ${message}`)
  }

  /** Reports unknown members, which are probably typing errors. */
  refuseOthers(known: ReadonlySet<string>): void {
    for (const name of this.names()) if (!known.has(name)) this.report(name, "unknown member")
  }

  private wrong(name: string, wanted: string): void {
    const found = this.members[name]
    this.report(name, `expected ${wanted}, found ${found === undefined ? "nothing" : JSON.stringify(found)}`)
  }

  private path(name: string): string {
    return `${this.where}: ${name}`
  }
}
