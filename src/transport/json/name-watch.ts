// Member names to look for while JSON text is scanned, at any depth. Cheap enough to run on every name of every request:
// most names are dismissed by their length and first letter, without being cut out of the text.

export interface WatchedNames {
  /** Names that are fine as they are spelled here; any other spelling of them is reported. */
  readonly spelled: Iterable<string>
  /** Names that are reported in every spelling. */
  readonly reported: Iterable<string>
}

/** Turns an ASCII capital into its small letter, and leaves small letters as they are. */
const LOWER = 0x20
const BACKSLASH = 0x5c

export class NameWatch {
  private readonly spelled: ReadonlySet<string>
  private readonly folded = new Set<string>()
  /** By `slotOf`: the names that are fine there; absent where none is watched. */
  private readonly slots: (string[] | undefined)[] = []

  constructor({ spelled, reported }: WatchedNames) {
    const names = new Set(spelled)
    const refused = new Set([...reported].flatMap(foldedForms))
    this.spelled = new Set([...names].filter((name) => !refused.has(foldName(name))))
    for (const name of [...names, ...reported]) for (const form of foldedForms(name)) this.add(form)
    for (const name of this.spelled) this.slots[slotOf(name, 0, name.length)]?.push(name)
  }

  /** Whether a name of plain ASCII letters must be looked at; its bounds are those inside its quotes. */
  reports(text: string, start: number, end: number): boolean {
    const fine = this.slots[slotOf(text, start, end)]
    if (fine === undefined) return false
    for (const name of fine) if (matchesNameAt(text, start, name)) return false
    return this.reportsName(text.slice(start, end))
  }

  /** As `reports`, of a name that may hold escapes or bytes beyond ASCII: these are always looked at. */
  reportsAny(text: string, start: number, end: number): boolean {
    for (let at = start; at < end; at++) {
      const code = text.charCodeAt(at)
      if (code >= 0x80 || code === BACKSLASH) return true
    }
    return this.reports(text, start, end)
  }

  private reportsName(name: string): boolean {
    return !this.spelled.has(name) && this.folded.has(foldName(name))
  }

  private add(form: string): void {
    this.folded.add(form)
    this.slots[slotOf(form, 0, form.length)] ??= []
  }
}

/** Names of one length that begin with one letter, in either case, share a slot. */
function slotOf(text: string, start: number, end: number): number {
  return (end - start) * 256 + (text.charCodeAt(start) | LOWER)
}

/** Whether `text` goes on with `name` here, compared without cutting it out. */
function matchesNameAt(text: string, start: number, name: string): boolean {
  for (let at = 0; at < name.length; at++) if (text.charCodeAt(start + at) !== name.charCodeAt(at)) return false
  return true
}

/** A name as decoders that ignore case compare it: Unicode simple case folding, as far as it leads to ASCII letters. */
export function foldName(name: string): string {
  return name.toLowerCase().replaceAll("\u017f", "s")
}

/** A name in snake case and in camel case, folded. */
export function foldedForms(name: string): string[] {
  return [...new Set([foldName(snakeCase(name)), foldName(name.replaceAll("_", ""))])]
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
