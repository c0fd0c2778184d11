// Replaces, inserts or removes single members of a JSON object by path, on its raw text: every other byte stays.
import { type JsonMember, type JsonOutline, outlineJson } from "./json-scan.ts"

/** `set` is JSON text in ASCII. A path that is not there is made; `remove` of what is not there does nothing. */
export type JsonEdit = { readonly path: readonly string[]; readonly set: string } | JsonRemoval

interface JsonRemoval {
  readonly path: readonly string[]
  readonly remove: true
}

interface TextPatch {
  readonly start: number
  readonly end: number
  readonly text: string
}

const asciiTexts = new Map<string, string>()
const MAX_WRITTEN = 10_000

/** JSON text for a string, in ASCII only, so that it fits any encoding of the text around it. Remembers names it wrote. */
export function asciiJson(value: string): string {
  const known = asciiTexts.get(value)
  if (known !== undefined) return known
  const json = asciiOf(value)
  if (asciiTexts.size >= MAX_WRITTEN) asciiTexts.clear()
  if (value.length <= 200) asciiTexts.set(value, json)
  return json
}

const NOT_ASCII = /[^\0-\x7f]/g

/** JSON text for anything, in ASCII only. */
export function asciiOf(value: unknown): string {
  return JSON.stringify(value).replace(NOT_ASCII, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

/** Edits the objects in the array that is a member, each by the edits of its place. */
export function spliceElements(text: string, name: string, edits: readonly (readonly JsonEdit[])[]): string {
  return mapElements(text, name, (element, index) => spliceJson(element, edits[index] ?? []))
}

/** Changes the objects in the array that is a member; one that becomes undefined is left out. Every other byte stays. */
export function mapElements(
  text: string,
  name: string,
  change: (element: string, index: number) => string | undefined,
): string {
  const member = outlineJson(text)?.members.find((each) => each.name === name)
  if (!member) return text
  let out = ""
  let at = member.valueStart + 1
  for (let index = 0; ; index++) {
    const start = text.indexOf("{", at)
    const end = start < 0 || start >= member.end ? -1 : objectEnd(text, start)
    if (end < 0) break
    const changed = change(text.slice(start, end), index)
    const before = text.slice(at, start)
    if (changed !== undefined) out += (out === "" ? before.replace(",", "") : before) + changed
    at = end
  }
  return text.slice(0, member.valueStart + 1) + out + text.slice(at)
}

const MARKS = /["{}]/g
const STRING = /"(?:[^"\\]|\\.)*"/gs

/** The place after the object that begins here; -1 where it has no end. */
function objectEnd(text: string, start: number): number {
  let depth = 0
  MARKS.lastIndex = start
  for (let mark = MARKS.exec(text); mark; mark = MARKS.exec(text)) {
    if (mark[0] === '"') {
      STRING.lastIndex = mark.index
      STRING.test(text)
      MARKS.lastIndex = STRING.lastIndex
    } else depth += mark[0] === "{" ? 1 : -1
    if (depth === 0) return MARKS.lastIndex
  }
  return -1
}

/** `outlined` is the outline of `text`, where the caller has it already. Text that is not an object comes back as it is. */
export function spliceJson(text: string, edits: readonly JsonEdit[], outlined = outlineJson(text)): string {
  if (!outlined) return text
  let out = ""
  let at = 0
  for (const patch of collectPatches(text, edits, outlined)) {
    out += text.slice(at, patch.start) + patch.text
    at = patch.end
  }
  return at === 0 && out === "" ? text : out + text.slice(at)
}

/** Written with plain loops: this runs for every request, every answer and every event of a stream. */
function collectPatches(text: string, edits: readonly JsonEdit[], { open, members }: JsonOutline): TextPatch[] {
  const found: TextPatch[] = []
  let removed: Set<JsonMember> | undefined
  let inserts = ""
  for (let index = 0; index < edits.length; index++) {
    const edit = edits[index]
    const name = edit?.path[0]
    // Edits below one member are made together, with the first of them.
    if (!edit || name === undefined || isEditedEarlier(edits, index, name)) continue
    let there = false
    for (const member of members) {
      if (member.name !== name) continue
      there = true
      if (edit.path.length > 1) found.push(...innerPatches(text, edits, member))
      else if ("set" in edit) found.push({ start: member.valueStart, end: member.end, text: edit.set })
      else removed = (removed ?? new Set()).add(member)
    }
    const fresh = there ? undefined : freshValue(edits, name)
    if (fresh !== undefined) inserts += `${inserts && ","}${asciiJson(name)}:${fresh}`
  }
  if (removed || inserts) found.push(...borderPatches({ open, members }, removed ?? NOTHING, inserts))
  return found.length > 1 ? found.sort((a, b) => a.start - b.start) : found
}

function isEditedEarlier(edits: readonly JsonEdit[], index: number, name: string): boolean {
  for (let before = 0; before < index; before++) if (edits[before]?.path[0] === name) return true
  return false
}

const NOTHING: ReadonlySet<JsonMember> = new Set()

/** The value of a member that is not there yet, as the edits at and below it make it. */
function freshValue(edits: readonly JsonEdit[], name: string): string | undefined {
  const [only] = edits
  if (edits.length === 1 && only?.path.length === 1) return "set" in only ? only.set : undefined
  const own = edits.filter((edit) => edit.path[0] === name)
  const whole = own.find((edit) => edit.path.length === 1)
  if (whole) return "set" in whole ? whole.set : undefined
  if (!own.some((edit) => "set" in edit)) return undefined
  return spliceJson("{}", innerEdits(own))
}

function innerPatches(
  text: string,
  edits: readonly JsonEdit[],
  { name, valueStart: start, end }: JsonMember,
): TextPatch[] {
  const value = text.slice(start, end)
  const inner = outlineJson(value)
  if (inner) {
    const own = innerEdits(edits.filter((edit) => edit.path[0] === name))
    return collectPatches(value, own, inner).map((patch) => ({
      start: patch.start + start,
      end: patch.end + start,
      text: patch.text,
    }))
  }
  const fresh = freshValue(edits, name)
  return fresh === undefined ? [] : [{ start, end, text: fresh }]
}

function innerEdits(edits: readonly JsonEdit[]): JsonEdit[] {
  return edits.map((edit) => ({ ...edit, path: edit.path.slice(1) }))
}

/** Removals take one comma with them; inserts go behind the last member that stays. */
function borderPatches({ open, members }: JsonOutline, removed: ReadonlySet<JsonMember>, inserts: string): TextPatch[] {
  const found: TextPatch[] = []
  let lastKept: JsonMember | undefined
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
  const text = lastKept && inserts ? `,${inserts}` : inserts
  if (text !== "" || end > start) found.push({ start, end, text })
  return found
}
