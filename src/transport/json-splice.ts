// Replaces, inserts or removes single members of a JSON object by path, on its raw text: every other byte stays.
import { type Member, type Outline, outline } from "./json-scan.ts"

/** `set` is JSON text in ASCII. A path that is not there is made; `remove` of what is not there does nothing. */
export type Edit = { readonly path: readonly string[]; readonly set: string } | Removal

interface Removal {
  readonly path: readonly string[]
  readonly remove: true
}

interface Patch {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** JSON text for a string, in ASCII only, so that it fits any encoding of the text around it. */
export function asciiJson(value: string): string {
  return JSON.stringify(value).replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}

/** `outlined` is the outline of `text`, where the caller has it already. Text that is not an object comes back as it is. */
export function splice(text: string, edits: readonly Edit[], outlined = outline(text)): string {
  if (!outlined) return text
  let out = ""
  let at = 0
  for (const patch of patches(text, edits, outlined)) {
    out += text.slice(at, patch.start) + patch.text
    at = patch.end
  }
  return at === 0 ? text : out + text.slice(at)
}

function patches(text: string, edits: readonly Edit[], outlined: Outline): Patch[] {
  const found: Patch[] = []
  const removed = new Set<Member>()
  const inserts: string[] = []
  for (const group of byFirstName(edits)) {
    const members = outlined.members.filter((member) => member.name === group.name)
    if (members.length === 0) {
      const value = freshValue(group.edits)
      if (value !== undefined) inserts.push(`${asciiJson(group.name)}:${value}`)
    }
    for (const member of members) {
      if (group.edits.some((edit) => edit.path.length === 1 && "remove" in edit)) removed.add(member)
      else found.push(...memberPatches(text, group.edits, member))
    }
  }
  found.push(...borderPatches(outlined, { removed, inserts }))
  return found.sort((a, b) => a.start - b.start)
}

function byFirstName(edits: readonly Edit[]): { name: string; edits: Edit[] }[] {
  const groups: { name: string; edits: Edit[] }[] = []
  for (const edit of edits) {
    const name = edit.path[0]
    if (name === undefined) throw new Error("an edit needs a path")
    const group = groups.find((candidate) => candidate.name === name)
    if (group) group.edits.push(edit)
    else groups.push({ name, edits: [edit] })
  }
  return groups
}

/** The value of a member that is not there yet, as the edits below it make it. */
function freshValue(edits: readonly Edit[]): string | undefined {
  const whole = edits.find((edit) => edit.path.length === 1)
  if (whole) return "set" in whole ? whole.set : undefined
  const inner = below(edits)
  if (!inner.some((edit) => "set" in edit)) return undefined
  return splice("{}", inner)
}

function memberPatches(text: string, edits: readonly Edit[], member: Member): Patch[] {
  const { valueStart: start, end } = member
  const whole = edits.find((edit) => edit.path.length === 1)
  if (whole) return "set" in whole ? [{ start, end, text: whole.set }] : []
  const value = text.slice(start, end)
  const inner = outline(value)
  if (inner) {
    return patches(value, below(edits), inner).map((patch) => ({
      start: patch.start + start,
      end: patch.end + start,
      text: patch.text,
    }))
  }
  const fresh = freshValue(edits)
  return fresh === undefined ? [] : [{ start, end, text: fresh }]
}

function below(edits: readonly Edit[]): Edit[] {
  return edits.map((edit) => ({ ...edit, path: edit.path.slice(1) }))
}

/** Removals take one comma with them; inserts go behind the last member that stays. */
function borderPatches(
  { open, members }: Outline,
  { removed, inserts }: { removed: ReadonlySet<Member>; inserts: readonly string[] },
): Patch[] {
  const found: Patch[] = []
  let lastKept: Member | undefined
  let runStart: number | undefined
  for (const member of members) {
    if (removed.has(member)) runStart ??= member.start
    else {
      if (runStart !== undefined) found.push({ start: runStart, end: member.start, text: "" })
      runStart = undefined
      lastKept = member
    }
  }
  const start = lastKept?.end ?? open
  const end = runStart === undefined ? start : (members.at(-1)?.end ?? start)
  const added = inserts.join(",")
  const text = lastKept && added ? `,${added}` : added
  if (text !== "" || end > start) found.push({ start, end, text })
  return found
}
