// Repairs the chunks of hosts that break rules of the official clients: the first delta of a choice has its role, each
// piece of a tool call its index, all chunks have the same id, and every chunk has `choices`. Valid chunks pass
// unchanged.
import { isObject, type Json, type JsonObject } from "../../../canonical/json.ts"
import { asciiJson, asciiOf, type JsonEdit, spliceElements, spliceJson } from "../../../transport/json/json-splice.ts"
import { parseEvent } from "../../parse-event.ts"

const MAX_READ_FOR_ID = 8

export class ChunkRepairer {
  private id: string | undefined
  private read = 0
  /** Choices that have had a role; undefined once a host is known to send it. */
  private roles: Set<number> | undefined = new Set()
  private callsNumbered: boolean | undefined
  private readonly calls = new Map<number, string[]>()

  /** The chunk's data, in byte text, as it has to pass. */
  repair(data: string): string {
    const looksSound = this.roles === undefined && (this.callsNumbered === true || !data.includes('"tool_calls"'))
    if (looksSound && data.includes('"choices"') && this.hasFirstId(data)) return data
    this.read++
    const chunk = parseEvent(data)
    if (!chunk || (chunk.error !== undefined && chunk.error !== null)) return data
    const edits: JsonEdit[] = []
    if (typeof chunk.id === "string" && chunk.id !== "") this.id ??= chunk.id
    if (this.id !== undefined && chunk.id !== this.id) edits.push({ path: ["id"], set: asciiJson(this.id) })
    if (!Array.isArray(chunk.choices)) edits.push({ path: ["choices"], set: "[]" })
    const named = edits.length > 0 ? spliceJson(data, edits) : data
    return Array.isArray(chunk.choices) ? this.withChoices(named, chunk.choices) : named
  }

  /** Some hosts omit it in their first chunks, and some always. */
  private hasFirstId(data: string): boolean {
    return this.id === undefined ? this.read >= MAX_READ_FOR_ID : data.includes(this.id)
  }

  private withChoices(data: string, choices: readonly Json[]): string {
    const edits = choices.map((choice) => (isObject(choice) ? this.editsOf(choice) : []))
    return edits.some((each) => each.length > 0) ? spliceElements(data, "choices", edits) : data
  }

  private editsOf(choice: JsonObject): JsonEdit[] {
    const { delta } = choice
    if (!isObject(delta)) return []
    const index = typeof choice.index === "number" ? choice.index : 0
    const edits: JsonEdit[] = []
    if (this.lacksRole(index, delta)) edits.push({ path: ["delta", "role"], set: '"assistant"' })
    const calls = Array.isArray(delta.tool_calls) ? this.addIndexes(index, delta.tool_calls) : undefined
    if (calls) edits.push({ path: ["delta", "tool_calls"], set: asciiOf(calls) })
    return edits
  }

  private lacksRole(index: number, { role }: JsonObject): boolean {
    if (!this.roles || this.roles.has(index)) return false
    // A host that names it once names it always; only of others every choice is watched.
    if (typeof role === "string" && role !== "" && this.roles.size === 0) {
      this.roles = undefined
      return false
    }
    this.roles.add(index)
    return typeof role !== "string" || role === ""
  }

  /** The calls with missing indexes added; undefined if none is missing. */
  private addIndexes(choice: number, calls: readonly Json[]): Json[] | undefined {
    this.callsNumbered ??= calls.every((call) => isObject(call) && typeof call.index === "number")
    if (this.callsNumbered) return undefined
    const ids = this.calls.get(choice) ?? []
    this.calls.set(choice, ids)
    return calls.map((call) => (isObject(call) ? { index: place(call, ids), ...call } : call))
  }
}

/** A piece with a new id starts a call; one without an id continues the last. */
function place({ id }: JsonObject, ids: string[]): number {
  if (typeof id !== "string" || id === "") return Math.max(0, ids.length - 1)
  const known = ids.indexOf(id)
  return known >= 0 ? known : ids.push(id) - 1
}
