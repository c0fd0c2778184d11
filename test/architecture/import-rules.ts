// The rules for imports: which module may import which, which files are a module's contract, and where Bun may be named.

import { type SourceFile, withoutComments } from "./sources.ts"

/** A module may import itself and the listed modules. Files directly in src/ are composition roots and may import all. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  canonical: [],
  transport: [],
  config: ["canonical"],
  telemetry: [],
  counting: ["transport"],
  protocols: ["canonical", "transport"],
  providers: ["config", "transport"],
  catalog: ["canonical"],
  routing: ["canonical", "catalog", "providers"],
  store: [],
  access: ["canonical", "config", "store"],
  ledger: ["canonical", "store"],
  simulator: ["canonical", "transport"],
  exchange: [
    "access",
    "canonical",
    "catalog",
    "counting",
    "ledger",
    "protocols",
    "providers",
    "routing",
    "store",
    "telemetry",
    "transport",
  ],
  http: ["access", "canonical", "exchange", "ledger", "protocols", "transport"],
  admin: ["access", "canonical", "ledger"],
  cli: ["access", "canonical", "config", "providers", "routing", "transport"],
}

/** Modules that others import only through their contract, and the files of that contract. */
const CONTRACTS: Readonly<Record<string, readonly string[]>> = {
  protocols: [
    "protocols/body-schemas.ts",
    "protocols/contract.ts",
    "protocols/chat-codec.ts",
    "protocols/embedding-codec.ts",
    "protocols/image-codec.ts",
    "protocols/request-members.ts",
    "protocols/retry-pause.ts",
    "protocols/routing-schema.ts",
  ],
  providers: ["providers/contract.ts"],
  store: ["store/contract.ts"],
}

/** Folders whose inner folders do not import each other: one for each wire protocol, one for each store. */
const SEPARATE_FOLDERS = [
  "protocols/chat",
  "protocols/embeddings",
  "protocols/images",
  "protocols/passthrough",
  "store",
]

const BUN_ALLOWED = [/^http\//, /^store\//, /^transport\/bun-wire\.ts$/, /^main\.ts$/]

export function importRuleViolations(files: readonly SourceFile[]): string[] {
  return [...files.flatMap(importViolations), ...files.flatMap(bunViolations), ...circles(files)]
}

function importViolations(file: SourceFile): string[] {
  const from = moduleOf(file.path)
  if (from === undefined) return []
  const allowed = MAY_IMPORT[from]
  if (!allowed) return [`${file.path}: ${from}/ is not a listed module`]
  return importsOf(file).flatMap((imported) => {
    const to = moduleOf(imported)
    const edge = `${file.path} imports ${imported}`
    if (to === undefined)
      return imported.startsWith("../") ? [] : [`${edge}: a module may not import a composition root`]
    if (to === from)
      return separated(file.path, imported) ? [`${edge}: folders of ${from}/ do not import each other`] : []
    if (!allowed.includes(to)) return [`${edge}: ${from}/ may not import ${to}/`]
    const isKnown = CONTRACTS[to]?.includes(imported) ?? true
    return isKnown ? [] : [`${edge}: ${to}/ may only be imported through its contract`]
  })
}

function separated(from: string, to: string): boolean {
  const [own, other] = [unitOf(from), unitOf(to)]
  return other !== undefined && own !== other && (own !== undefined || to.startsWith("protocols/"))
}

/** The protocol's or store's own folder that a file is in; undefined for files that they share. */
function unitOf(path: string): string | undefined {
  const parent = SEPARATE_FOLDERS.find((folder) => path.startsWith(`${folder}/`))
  if (parent === undefined) return undefined
  const [folder = "", ...rest] = path.slice(parent.length + 1).split("/")
  return rest.length === 0 ? undefined : `${parent}/${folder}`
}

function bunViolations({ path, text }: SourceFile): string[] {
  if (BUN_ALLOWED.some((pattern) => pattern.test(path))) return []
  return /\bBun\.|["']bun(:[a-z]+)?["']/.test(withoutComments(text)) ? [`${path} names Bun's own interface`] : []
}

function circles(files: readonly SourceFile[]): string[] {
  const edges = new Map(files.map((file) => [file.path, importsOf(file)]))
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, trail: readonly string[]) => {
    const seenAt = trail.indexOf(path)
    if (seenAt >= 0) {
      found.push(`circle: ${[...trail.slice(seenAt), path].join(" → ")}`)
      return
    }
    if (done.has(path)) return
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path])
    done.add(path)
  }
  for (const path of edges.keys()) visit(path, [])
  return found
}

/** Paths below src/ of the project's files that a file imports. */
function importsOf({ path, text }: SourceFile): string[] {
  const here = path.split("/").slice(0, -1)
  const specifiers = withoutComments(text).matchAll(/(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g)
  return [...specifiers].map(([, specifier = ""]) => {
    const parts = [...here]
    for (const part of specifier.split("/")) {
      if (part === "..") parts.length > 0 ? parts.pop() : parts.push("..")
      else if (part !== ".") parts.push(part)
    }
    return parts.join("/")
  })
}

/** The module that a path belongs to; undefined for files directly in src/ and outside of it. */
function moduleOf(path: string): string | undefined {
  const [first = "", second] = path.split("/")
  return second === undefined || first === ".." ? undefined : first
}
