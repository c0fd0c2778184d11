// The members that a vendor writes in its answers, and which of them it writes as null: read from vendor-members.txt.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { MemberPaths } from "./member-paths.ts"

export interface VendorMembers {
  /** Members in its recorded answers. */
  readonly recorded: MemberPaths
  /** That, and what only its descriptions or other hosts of its protocol show. */
  readonly all: MemberPaths
}

const [, ...sections] = readFileSync(join(import.meta.dir, "vendor-members.txt"), "utf8").split(/^# /m)

export const VENDOR_MEMBERS: ReadonlyMap<string, VendorMembers> = new Map(
  sections.map((section) => {
    const [protocol = "", ...lines] = section.trim().split("\n")
    const recorded: MemberPaths = new Map()
    for (const line of lines) if (!line.startsWith("+ ")) addMembers(line, recorded)
    const all: MemberPaths = new Map(recorded)
    for (const line of lines) if (line.startsWith("+ ")) addMembers(line.slice(2), all)
    return [protocol, { recorded, all }]
  }),
)

/** A line has a shape, a colon and its members. */
function addMembers(line: string, members: MemberPaths): void {
  const [shape = "", names = ""] = line.split(": ")
  for (const name of names.split(" ")) {
    const path = shape === "answer" ? name : `${shape}.${name}`
    members.set(path.replace("?", ""), { valued: true, isNull: name.endsWith("?") })
  }
}
