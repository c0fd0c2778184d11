// trivium keys: create, list, update, topup, rotate, revoke.
import { Command, InvalidArgumentError } from "commander"
import { given } from "../accounts/shown-grant.ts"
import type { AskedChange, AskedKey, ShownKey, ShownMintedKey } from "../accounts/shown-key.ts"
import { atDesk, type OpenDesk } from "./desk.ts"
import { type JsonFlags, withAdminFlags } from "./flags.ts"
import { askedGrantOf, type Bound, type GrantFlags, limitsOf, list, withGrantFlags } from "./grant-flags.ts"
import type { ListModels } from "./models.ts"
import { print, table, toppedUp } from "./print.ts"
import { warnOfScope } from "./scope-warnings.ts"

type ModelMapping = NonNullable<ShownKey["model_map"]>[number]

interface ChangeFlags extends JsonFlags, GrantFlags {
  readonly name?: string
  readonly tenant?: string
  readonly addresses?: Bound<readonly string[]>
  readonly expires?: Bound<number>
  readonly keepAnswers?: boolean
  readonly ownBalance?: boolean
  readonly strictBalance?: boolean
  readonly hedge?: boolean
  readonly map?: Bound<readonly ModelMapping[]>
}

interface CreateFlags extends ChangeFlags {
  readonly name: string
  readonly balance?: string
}

export function keysCommand(open: OpenDesk, listModels: ListModels): Command {
  const command = new Command("keys").description("create, list, change, top up, rotate and revoke API keys")
  const add = (name: string, description: string) =>
    withAdminFlags(command.command(name).description(description)).option("--json", "print JSON")

  withKeyFlags(add("create", "create a key and print it, this once").requiredOption("--name <name>", "what it is for"))
    .option("--balance <usd>", "a balance of its own, with so much on it")
    .action((flags: CreateFlags) =>
      atDesk(open, flags, async ({ keys }) => {
        printMinted(await keys.create(asked(flags)), flags)
        await warnOfScope(flags, listModels)
      }),
    )
  add("list", "list all keys").action((flags: JsonFlags) =>
    atDesk(open, flags, async ({ keys }) => printKeys(await keys.list(), flags)),
  )
  withKeyFlags(add("update <id>", "change a key").option("--name <name>", "what it is for"))
    .option("--own-balance", "pay from a balance of its own")
    .option("--no-own-balance", "pay from its tenant's")
    .action((id: string, flags: ChangeFlags) =>
      atDesk(open, flags, async ({ keys }) => {
        told(await keys.update(id, askedChange(flags)), "Changed", flags)
        await warnOfScope(flags, listModels)
      }),
    )
  add("topup <id> <usd>", "add to a key's balance").action((id: string, usd: string, flags: JsonFlags) =>
    atDesk(open, flags, async ({ keys }) => {
      const key = await keys.topUp(id, { usd })
      print(flags.json ? JSON.stringify(key) : toppedUp(`${key.id} (${key.name})`, key))
    }),
  )
  add("rotate <id>", "replace a key's secret; the old one is accepted for a grace period")
    .option("--grace <duration>", "how long the old text still works, such as 1h (default: 24h)", duration)
    .action((id: string, { grace, ...flags }: JsonFlags & { grace?: number }) =>
      atDesk(open, flags, async ({ keys }) => {
        const asked = grace === undefined ? {} : { grace_seconds: grace / 1000 }
        printMinted(await keys.rotate(id, asked), flags)
      }),
    )
  add("revoke <id>", "revoke a key").action((id: string, flags: JsonFlags) =>
    atDesk(open, flags, async ({ keys }) => told(await keys.revoke(id), "Revoked", flags)),
  )
  return command
}

function withKeyFlags(command: Command): Command {
  return withGrantFlags(command, { rpm: "default" })
    .option("--tenant <tenant>", "whom it belongs to (at first: default)")
    .option("--addresses <ranges>", "client addresses it may be used from, such as 10.0.0.0/8, or all", list)
    .option("--expires <when>", "30d, 12h, 45m, a date such as 2027-01-31, or never", expiry)
    .option("--keep-answers", "keep answers, so that a request sent twice gets the first answer again")
    .option("--no-keep-answers", "keep no answers")
    .option("--strict-balance", "hold all that an answer may cost before the call, also of a stream")
    .option("--no-strict-balance", "hold more as a stream grows")
    .option("--hedge", "ask a second target where the first takes long, and take who answers first")
    .option("--no-hedge", "wait for the first, unless a request wishes otherwise")
    .option(
      "--map <from=to>",
      "serve another model for names that a client has built in, such as 'claude-haiku-*=google/gemini-2.5-flash'; repeatable, the first match counts; none removes the map",
      mappings,
    )
}

function asked(flags: CreateFlags): AskedKey {
  const { name, balance } = flags
  return { ...askedChange(flags), name, ...(balance !== undefined && { balance }) }
}

function askedChange(flags: ChangeFlags): AskedChange {
  const { name, tenant, addresses, expires, keepAnswers, ownBalance, strictBalance, hedge, map } = flags
  const members = {
    name,
    tenant,
    addresses: addresses?.to,
    expires_at: expires?.to && new Date(expires.to).toISOString(),
    keep_answers: keepAnswers,
    own_balance: ownBalance,
    strict_balance: strictBalance,
    hedge,
    model_map: map?.to,
  }
  return { ...given(members), ...askedGrantOf(flags) } as AskedChange
}

function told(key: ShownKey, what: string, { json }: JsonFlags): void {
  print(json ? JSON.stringify(key) : `${what} ${key.id} (${key.name}).`)
}

function printMinted(minted: ShownMintedKey, { json }: JsonFlags): void {
  const { name, id, key, previous_until } = minted
  if (json) {
    print(JSON.stringify(minted))
    return
  }
  print(`${name} (${id}), shown this once:\n\n  ${key}\n`)
  if (previous_until !== undefined) print(describeGrace(previous_until))
}

function describeGrace(until: string): string {
  if (Date.parse(until) <= Date.now()) return "The old key is not accepted any more."
  return `The old key is accepted until ${until.slice(0, 16).replace("T", " ")} UTC.`
}

function printKeys(keys: readonly ShownKey[], { json }: JsonFlags): void {
  if (json) print(JSON.stringify(keys))
  else if (keys.length === 0) print("There are no keys. Create one: trivium keys create --name NAME")
  else print(table(["ID", "NAME", "TENANT", "KEY", "MODELS", "LIMITS", "STATE"], keys.map(row)))
}

function row(key: ShownKey): string[] {
  return [
    key.id,
    key.name,
    key.tenant,
    key.hint,
    key.models?.join(",") ?? "all",
    limitsOf(key, key.own_balance ? key : { balance: null }) || "default",
    state(key),
  ]
}

function state({ revoked_at, expires_at }: ShownKey): string {
  if (revoked_at !== null) return `revoked ${day(revoked_at)}`
  if (expires_at === null) return "valid"
  return Date.parse(expires_at) <= Date.now() ? `expired ${day(expires_at)}` : `valid until ${day(expires_at)}`
}

function day(time: string): string {
  return time.slice(0, 10)
}

function mappings(text: string, given?: Bound<readonly ModelMapping[]>): Bound<readonly ModelMapping[]> {
  if (text === "none") return { to: null }
  const equals = text.indexOf("=")
  const [from, to] = [text.slice(0, equals).trim(), text.slice(equals + 1).trim()]
  if (equals < 1 || from === "" || to === "") {
    throw new InvalidArgumentError(
      "Give a name or pattern and a model, such as 'claude-haiku-*=google/gemini-2.5-flash'.",
    )
  }
  return { to: [...(given?.to ?? []), { from, to }] }
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function duration(text: string): number {
  const [, amount, unit = ""] = /^(\d+)([mhd])$/.exec(text) ?? []
  const ms = Number(amount) * (UNITS[unit] ?? Number.NaN)
  if (Number.isNaN(ms)) throw new InvalidArgumentError("Give a number and m, h or d, such as 30d.")
  return ms
}

function expiry(text: string): Bound<number> {
  if (text === "never") return { to: null }
  if (/^\d+[mhd]$/.test(text)) return { to: Date.now() + duration(text) }
  const date = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(date)) throw new InvalidArgumentError("Give 30d, 12h, 45m, a date such as 2027-01-31, or never.")
  return { to: date }
}
