// The rules for type names: defined once, and a noun that says what the type holds.

import { type SourceFile, withoutComments } from "./sources.ts"

/** Two files may each declare a private type of one name; a third means that the name is too general. */
const MOST_FILES_PER_NAME = 2

/** Words that name no thing: a reader cannot tell from them what a value of the type contains. */
const MEANINGLESS_NAMES = new Set(
  [
    "Answering Around Asked Asking Asks Begun Beside Both Carried Charged Counted Desk Doing Door Driven Ended Ending",
    "Errand Found Given Grown Growing Heard Held House Known Left Listed Looking Made Must Named Obeyed Occasion Paid",
    "Passage Place Places Posted Prepared Read Reading Received Refused Running Said Sayable Saying Seen Sending Sent",
    "Served Shown Spell Spent Spoken Standing Stuck Suffered Tested Thing Things Timed Told Used Visit Watched Way Ways",
    "Which Wish Won Writing Written Wrong Data Info Item Stuff",
  ].flatMap((line) => line.split(" ")),
)

export function typeNameViolations(files: readonly SourceFile[]): string[] {
  return [...filesByTypeName(files)].flatMap(([name, paths]) => [
    ...(paths.size > MOST_FILES_PER_NAME
      ? [`${name} is defined in ${paths.size} files: ${[...paths].join(", ")}`]
      : []),
    ...(MEANINGLESS_NAMES.has(name) ? [`${name} in ${[...paths].join(", ")} does not say what the type holds`] : []),
  ])
}

/** The files that define each interface, type alias and class. */
export function filesByTypeName(files: readonly SourceFile[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const { path, text } of files) {
    for (const name of definedTypes(text)) found.set(name, (found.get(name) ?? new Set()).add(path))
  }
  return found
}

function definedTypes(text: string): string[] {
  const definitions = withoutComments(text).matchAll(
    /^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:(?:interface|class)\s+([A-Z]\w*)|type\s+([A-Z]\w*)\s*[=<])/gm,
  )
  return [...definitions].map(([, declared, aliased]) => declared ?? aliased ?? "")
}
