// The only file that knows YAML. It turns text into nodes: a value, its position, and a way to report a problem with
// it. Variables and aliases are resolved when a node is read, so nothing is expanded that is not used.

import type { Alias, Document, Node, YAMLMap } from "yaml"
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml"
import { quoteName } from "../canonical/nearest-name.ts"
import type { ConfigFileProblem } from "./config-error.ts"

export type NodeContent =
  | { readonly kind: "nothing" }
  | { readonly kind: "text"; readonly text: string; readonly substituted: boolean }
  | { readonly kind: "number"; readonly number: number }
  | { readonly kind: "boolean"; readonly boolean: boolean }
  | { readonly kind: "list"; readonly items: readonly ConfigNode[] }
  | { readonly kind: "mapping"; readonly members: ReadonlyMap<string, ConfigNode> }
  /** Unreadable, and reported already. */
  | { readonly kind: "broken" }

export interface DocumentOptions {
  /** The values of `${NAME}`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Receives the problems. */
  readonly problems: ConfigFileProblem[]
}

/** Limit of aliases per document: far above real files, far below the expansion of a malicious one. */
const MAX_ALIASES = 1000

export function openDocument(text: string, options: DocumentOptions): ConfigNode {
  const source = new YamlSource(text, options)
  return new ConfigNode(source, { path: "", node: source.root })
}

interface NodePosition {
  readonly path: string
  readonly node: Node | null
  /** Offset of the member's name, if it has one. */
  readonly nameOffset?: number
}

/** One node of the document. */
export class ConfigNode {
  readonly path: string
  readonly #source: YamlSource
  readonly #spot: NodePosition
  #content: NodeContent | undefined

  constructor(source: YamlSource, spot: NodePosition) {
    this.path = spot.path
    this.#source = source
    this.#spot = spot
  }

  content(): NodeContent {
    this.#content ??= this.#source.read(this.#spot, this)
    return this.#content
  }

  /** True if this is a mapping in which `name` is set; a member that is null counts as absent. */
  has(name: string): boolean {
    const content = this.content()
    const member = content.kind === "mapping" ? content.members.get(name) : undefined
    return member !== undefined && member.content().kind !== "nothing"
  }

  /** Reports a problem with this value. */
  report(message: string): void {
    this.#source.report(this.path, this.#spot.node?.range?.[0] ?? this.#spot.nameOffset ?? 0, message)
  }

  /** Reports a problem with the name of this member, or with a member missing under it. */
  reportName(message: string): void {
    this.#source.report(this.path, this.#spot.nameOffset ?? this.#spot.node?.range?.[0] ?? 0, message)
  }
}

class YamlSource {
  readonly root: Node | null
  readonly #lines = new LineCounter()
  readonly #options: DocumentOptions
  readonly #targets = new Map<Alias, Node>()
  #aliasesLeft = MAX_ALIASES

  constructor(text: string, options: DocumentOptions) {
    this.#options = options
    this.root = this.#parse(text)
  }

  report(path: string, offset: number, message: string): void {
    const { line, col } = this.#lines.linePos(offset)
    this.#options.problems.push({ path, line: Math.max(line, 1), column: Math.max(col, 1), message })
  }

  read(spot: NodePosition, configNode: ConfigNode): NodeContent {
    const node = this.#follow(spot.node, configNode)
    if (node === "broken") return { kind: "broken" }
    if (isSeq<Node>(node))
      return { kind: "list", items: node.items.map((item, index) => this.#item(item, spot, index)) }
    if (isMap<Node, Node | null>(node)) return { kind: "mapping", members: this.#members(node, spot) }
    const value = isScalar(node) ? node.value : null
    if (value === null || value === undefined) return { kind: "nothing" }
    if (typeof value === "string") return this.#substitute(value, configNode)
    if (typeof value === "number") return { kind: "number", number: value }
    if (typeof value === "boolean") return { kind: "boolean", boolean: value }
    configNode.report("expected plain YAML: text, numbers, true, false, lists and mappings")
    return { kind: "broken" }
  }

  #parse(text: string): Node | null {
    const { problems } = this.#options
    try {
      // Pretty errors quote the line, which may hold a credential. Names are compared in #members, where paths are known.
      const options = { lineCounter: this.#lines, prettyErrors: false, uniqueKeys: false, logLevel: "error" } as const
      const document = parseDocument(text, options)
      for (const { pos, message } of [...document.errors, ...document.warnings]) {
        this.report("", pos[0], `not valid YAML: ${withoutSource(message)}`)
      }
      if (document.errors.length > 0) return null
      this.#bindAliases(document)
      return document.contents as Node | null
    } catch (error) {
      const why = error instanceof RangeError ? "nested too deeply" : "the parser gave up"
      problems.push({ path: "", line: 1, column: 1, message: `not valid YAML: ${why}` })
      return null
    }
  }

  /** An alias refers to the nearest anchor of its name *before* it; one walk finds them all. */
  #bindAliases(document: Document): void {
    const anchors = new Map<string, Node>()
    visit(document, {
      Node: (_, node) => {
        if (isAlias(node)) {
          const target = anchors.get(node.source)
          if (target) this.#targets.set(node, target)
        } else if (node.anchor !== undefined) anchors.set(node.anchor, node as Node)
      },
    })
  }

  #follow(node: Node | null, configNode: ConfigNode): Node | null | "broken" {
    if (!isAlias(node)) return node
    const target = this.#targets.get(node)
    if (target === undefined) configNode.report("refers to an anchor that is not set before it")
    else if (this.#aliasesLeft-- > 0) return target
    else if (this.#aliasesLeft === -1) configNode.report(`uses more than ${MAX_ALIASES} aliases`)
    return "broken"
  }

  #item(node: Node | null, { path }: NodePosition, index: number): ConfigNode {
    return new ConfigNode(this, { path: `${path}[${index}]`, node })
  }

  #members(map: YAMLMap<Node, Node | null>, { path }: NodePosition): Map<string, ConfigNode> {
    const members = new Map<string, ConfigNode>()
    for (const { key, value } of map.items) {
      const nameOffset = key?.range?.[0] ?? map.range?.[0] ?? 0
      const name = memberName(isAlias(key) ? this.#targets.get(key) : key)
      if (name === undefined) this.report(path, nameOffset, "expected a name before the colon")
      else if (members.has(name)) this.report(memberPath(path, name), nameOffset, `${quoteName(name)} is set twice`)
      else members.set(name, new ConfigNode(this, { path: memberPath(path, name), node: value, nameOffset }))
    }
    return members
  }

  /** Replaces `${NAME}` by the environment's values; `$${` is a literal `${`. */
  #substitute(text: string, configNode: ConfigNode): NodeContent {
    const wrong = new Set<string>()
    const result = text.replace(/\$?\$\{([^{}]*)(\}?)/g, (found, name: string, close: string) => {
      if (found.startsWith("$$")) return found.slice(1)
      if (close === "" || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
        wrong.add('"${" must be followed by a variable name and a closing brace (write "$${" for a literal "${")')
        return ""
      }
      const value = Object.hasOwn(this.#options.environment, name) ? this.#options.environment[name] : undefined
      if (value === undefined) wrong.add(`the environment variable ${name} is not set`)
      return value ?? ""
    })
    for (const message of wrong) configNode.report(message)
    return wrong.size > 0 ? { kind: "broken" } : { kind: "text", text: result, substituted: result !== text }
  }
}

function memberName(key: Node | null | undefined): string | undefined {
  if (!isScalar(key)) return undefined
  if (typeof key.value === "string") return key.value
  // `1:` and `true:` are names too, as written.
  return key.value === null ? undefined : key.source
}

function memberPath(parent: string, name: string): string {
  if (!/^[A-Za-z0-9_-]+$/.test(name) || name.length > 80) return `${parent}[${quoteName(name)}]`
  return parent === "" ? name : `${parent}.${name}`
}

/** Some of the parser's messages end with the offending text, which may be a credential. */
function withoutSource(message: string): string {
  const plain = message.replace(/(?<=\S): .*$/s, "")
  return plain.charAt(0).toLowerCase() + plain.slice(1)
}
