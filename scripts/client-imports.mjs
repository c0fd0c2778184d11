// Finds the test files that need the packages of test/clients: they import one, or a file that does.
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), "test", "clients")
const importPattern = /(?:^|\n)\s*(?:import|export)\s+(?:[^"';]*?\sfrom\s+)?"([^"]+)"|\bimport\("([^"]+)"\)/g
const visited = new Map()

/** Whether the packages are installed. */
export function hasClients() {
  return existsSync(join(folder, "node_modules"))
}

export function needsClients(path) {
  const known = visited.get(path)
  if (known !== undefined) return known
  // Set first: two files may import each other's types.
  visited.set(path, false)
  const specifiers = [...readFileSync(path, "utf8").matchAll(importPattern)].map((found) => found[1] ?? found[2])
  const result = specifiers.some((specifier) =>
    specifier.startsWith(".") ? leadsToClients(join(dirname(path), specifier)) : isClient(specifier),
  )
  visited.set(path, result)
  return result
}

function leadsToClients(path) {
  return /\.[cm]?[jt]s$/.test(path) && existsSync(path) && needsClients(path)
}

let names

function isClient(specifier) {
  names ??= Object.keys(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).dependencies)
  return names.some((name) => specifier === name || specifier.startsWith(`${name}/`))
}
