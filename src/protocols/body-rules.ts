// Rules for request bodies, declared once per protocol and checked over the whole body. Members that the gateway owns,
// prices or bounds are refused in any spelling but the protocol's own, because some hosts ignore case (Go's
// encoding/json) or accept both snake and camel case, and would obey the second spelling.
import { excerpt } from "../canonical/gateway-error.ts"
import { isObject, type Json, type JsonObject } from "../canonical/json.ts"
import {
  checkAt,
  checkItems,
  type FieldMismatch,
  refuseField,
  runFieldChecks,
} from "../canonical/schema/field-mismatch.ts"
import { camelCase, foldedForms, foldName, NameWatch, snakeCase } from "../transport/json/name-watch.ts"

/** The reason to refuse a member for its value or its parent object; undefined if it is allowed. */
export type ValueRefusal = (value: Json, holder: JsonObject) => FieldMismatch | undefined

export interface ObjectRules {
  /** Members that the gateway owns, prices or bounds, as the protocol spells them. */
  readonly members?: readonly string[]
  /** Members that are refused in this object, in any spelling. */
  readonly refused?: Readonly<Record<string, ValueRefusal>>
  /** Rules for the objects in these members, or in their arrays. */
  readonly inside?: Readonly<Record<string, ObjectRules>>
  /** Types of objects that only describe a provider's actions; they are not searched. */
  readonly opaqueTypes?: RegExp
}

export interface BodyRules extends ObjectRules {
  /** True if the vendor accepts every name in snake case and in camel case. */
  readonly takesBothCases?: boolean
  /** Members that are refused at any depth, in any spelling. */
  readonly refusedAnywhere: Readonly<Record<string, ValueRefusal>>
  /** Members with the caller's own data, such as schemas and arguments; they are not searched. */
  readonly opaque: readonly string[]
}

/** The rules of a protocol, ready to be applied. */
export interface BodyGuard {
  /** Reports every name that a rule may concern, at the top level and below; a body without one passes. */
  readonly outer: NameWatch
  readonly inner: NameWatch
  /** Throws a GatewayError that names the first member that breaks a rule. */
  check(body: JsonObject): void
}

export function guardBody(rules: BodyRules): BodyGuard {
  const { takesBothCases = false } = rules
  const root = compileRules(rules, takesBothCases)
  const walker = new BodyWalker(byFoldedName(rules.refusedAnywhere), new Set(rules.opaque))
  const anywhere = Object.keys(rules.refusedAnywhere)
  return {
    outer: watchNames({ ...rules, inside: {} }, { takesBothCases, anywhere }),
    inner: watchNames({ inside: rules.inside ?? {} }, { takesBothCases, anywhere }),
    check: (body) => runFieldChecks(() => walker.walk(body, root)),
  }
}

interface CompiledRules {
  /** The allowed spellings, by every folded form of a member's name. */
  readonly spellings: ReadonlyMap<string, readonly string[]>
  readonly refused: ReadonlyMap<string, ValueRefusal>
  readonly inside: ReadonlyMap<string, CompiledRules>
  readonly opaqueTypes: RegExp | undefined
}

const NO_RULES: CompiledRules = {
  spellings: new Map(),
  refused: new Map(),
  inside: new Map(),
  opaqueTypes: undefined,
}

function compileRules(rules: ObjectRules, takesBothCases: boolean): CompiledRules {
  const inside = Object.entries(rules.inside ?? {}).flatMap(([name, inner]) => {
    const compiled = compileRules(inner, takesBothCases)
    return spellingsOf(name, takesBothCases).map((form) => [form, compiled] as const)
  })
  const spellings = (rules.members ?? []).flatMap((name) =>
    foldedForms(name).map((form) => [form, spellingsOf(name, takesBothCases)] as const),
  )
  return {
    spellings: new Map(spellings),
    refused: byFoldedName(rules.refused ?? {}),
    inside: new Map(inside),
    opaqueTypes: rules.opaqueTypes,
  }
}

function spellingsOf(name: string, takesBothCases: boolean): string[] {
  return takesBothCases ? [camelCase(name), snakeCase(name)] : [name]
}

function byFoldedName(refused: Readonly<Record<string, ValueRefusal>>): Map<string, ValueRefusal> {
  return new Map(
    Object.entries(refused).flatMap(([name, refuse]) => foldedForms(name).map((form) => [form, refuse] as const)),
  )
}

interface WatchedRules {
  readonly takesBothCases: boolean
  readonly anywhere: readonly string[]
}

function watchNames(rules: ObjectRules, { takesBothCases, anywhere }: WatchedRules): NameWatch {
  const { spelled, reported } = namesIn(rules, takesBothCases)
  return new NameWatch({ spelled, reported: [...reported, ...anywhere] })
}

function namesIn(rules: ObjectRules, takesBothCases: boolean): { spelled: string[]; reported: string[] } {
  const inner = Object.values(rules.inside ?? {}).map((each) => namesIn(each, takesBothCases))
  const own = (rules.members ?? []).flatMap((name) => spellingsOf(name, takesBothCases))
  return {
    spelled: [...own, ...inner.flatMap(({ spelled }) => spelled)],
    reported: [...Object.keys(rules.refused ?? {}), ...inner.flatMap(({ reported }) => reported)],
  }
}

class BodyWalker {
  constructor(
    private readonly refusedAnywhere: ReadonlyMap<string, ValueRefusal>,
    private readonly opaque: ReadonlySet<string>,
  ) {}

  /** Throws the first Misfit; its path is completed on the way up. */
  walk(value: Json, rules: CompiledRules): void {
    if (Array.isArray(value)) {
      checkItems(value, (each) => this.walk(each, rules))
    } else if (isObject(value) && !isOpaque(value, rules)) this.walkObject(value, rules)
  }

  private walkObject(object: JsonObject, rules: CompiledRules): void {
    for (const [name, value] of Object.entries(object)) {
      if (value === null || value === undefined) continue
      checkAt(excerpt(name), () => this.checkMember(name, object, rules), value)
      const inner = rules.inside.get(name)
      if (inner || !this.opaque.has(name)) checkAt(excerpt(name), (held) => this.walk(held, inner ?? NO_RULES), value)
    }
  }

  private checkMember(name: string, holder: JsonObject, rules: CompiledRules): void {
    const folded = foldName(name)
    const spellings = rules.spellings.get(folded)
    if (spellings && !spellings.includes(name)) throw spellingMismatch(spellings)
    const refuse = rules.refused.get(folded) ?? this.refusedAnywhere.get(folded)
    const fault = refuse?.(holder[name] ?? null, holder)
    if (fault) throw fault
  }
}

function isOpaque({ type }: JsonObject, { opaqueTypes }: CompiledRules): boolean {
  return opaqueTypes !== undefined && typeof type === "string" && opaqueTypes.test(type)
}

function spellingMismatch(spellings: readonly string[]): FieldMismatch {
  const right = spellings.map((name) => `\`${name}\``).join(" or ")
  return refuseField(
    "invalid_parameter",
    (path) => `\`${path}\` is another spelling of ${right}, which some providers also accept. Send ${right} instead.`,
  )
}
