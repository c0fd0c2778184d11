// trivium keys: create, list, update, topup, rotate, revoke.
import { Command, InvalidArgumentError } from "commander"
import { omitUndefined } from "../../access/views/grant-view.ts"
import type { KeyChangeInput, KeyInput, KeyView, MintedKeyView } from "../../access/views/key-view.ts"
import { type JsonFlags, withAdminFlags } from "../command-flags.ts"
import {
  type FlagBound,
  formatLimits,
  type GrantFlags,
  parseList,
  toGrantInput,
  withGrantFlags,
} from "../grant-flags.ts"
import { describeTopUp, formatTable, print } from "../print.ts"
import { type OpenAdmin, withAdmin } from "../remote-admin.ts"
import { warnOfScope } from "../scope-warnings.ts"
import type { ListGatewayModels } from "./models.ts"

type ModelMapEntry = NonNullable<KeyView["model_map"]>[number]

interface KeyChangeFlags extends JsonFlags, GrantFlags {
  readonly name?: string
  readonly tenant?: string
  readonly addresses?: FlagBound<readonly string[]>
  readonly expires?: FlagBound<number>
  readonly keepAnswers?: boolean
  readonly ownBalance?: boolean
  readonly strictBalance?: boolean
  readonly hedge?: boolean
  readonly map?: FlagBound<readonly ModelMapEntry[]>
}

interface KeyCreateFlags extends KeyChangeFlags {
  readonly name: string
  readonly balance?: string
}

export function keysCommand(open: OpenAdmin, listModels: ListGatewayModels): Command {
  const command = new Command("keys").description("create, list, change, top up, rotate and revoke API keys")
  const add = (name: string, description: string) =>
    withAdminFlags(command.command(name).description(description)).option("--json", "print JSON")

  withKeyFlags(
    add("create", "create a key and print it (it is shown only once)").requiredOption(
      "--name <name>",
      "name of the key",
    ),
  )
    .option("--balance <usd>", "give the key its own balance with this amount in USD")
    .action((flags: KeyCreateFlags) =>
      withAdmin(open, flags, async ({ keys }) => {
        printMinted(await keys.create(toKeyInput(flags)), flags)
        await warnOfScope(flags, listModels)
      }),
    )
  add("list", "list all keys").action((flags: JsonFlags) =>
    withAdmin(open, flags, async ({ keys }) => printKeys(await keys.list(), flags)),
  )
  withKeyFlags(add("update <id>", "change a key").option("--name <name>", "name of the key"))
    .option("--own-balance", "pay from the key's own balance")
    .option("--no-own-balance", "pay from the tenant's balance")
    .action((id: string, flags: KeyChangeFlags) =>
      withAdmin(open, flags, async ({ keys }) => {
        printKey(await keys.update(id, toKeyChangeInput(flags)), "Changed", flags)
        await warnOfScope(flags, listModels)
      }),
    )
  add("topup <id> <usd>", "add to a key's balance").action((id: string, usd: string, flags: JsonFlags) =>
    withAdmin(open, flags, async ({ keys }) => {
      const key = await keys.topUp(id, { usd })
      print(flags.json ? JSON.stringify(key) : describeTopUp(`${key.id} (${key.name})`, key))
    }),
  )
  add("rotate <id>", "replace a key's secret; the old one stays valid for a grace period")
    .option("--grace <duration>", "how long the old secret stays valid, such as 1h (default: 24h)", parseDuration)
    .action((id: string, { grace, ...flags }: JsonFlags & { grace?: number }) =>
      withAdmin(open, flags, async ({ keys }) => {
        const input = grace === undefined ? {} : { grace_seconds: grace / 1000 }
        printMinted(await keys.rotate(id, input), flags)
      }),
    )
  add("revoke <id>", "revoke a key").action((id: string, flags: JsonFlags) =>
    withAdmin(open, flags, async ({ keys }) => printKey(await keys.revoke(id), "Revoked", flags)),
  )
  return command
}

function withKeyFlags(command: Command): Command {
  return withGrantFlags(command, { rpm: "default" })
    .option("--tenant <tenant>", "tenant the key belongs to (new keys: default)")
    .option(
      "--addresses <ranges>",
      "client IP addresses or ranges allowed to use the key, such as 10.0.0.0/8, or all",
      parseList,
    )
    .option("--expires <when>", "expiry: 30d, 12h, 45m, a date such as 2027-01-31, or never", parseExpiry)
    .option("--keep-answers", "store responses, so that a retry with the same idempotency key gets the stored response")
    .option("--no-keep-answers", "store no responses")
    .option("--strict-balance", "hold the maximum cost of a response before the call, also for streams")
    .option("--no-strict-balance", "hold more as a stream grows")
    .option("--hedge", "send a second attempt if the first is slow, and use the first response")
    .option("--no-hedge", "send no second attempt, unless the request asks for one")
    .option(
      "--map <from=to>",
      "serve another model for a requested name or pattern, such as 'claude-haiku-*=google/gemini-2.5-flash'; repeatable, first match wins; none removes the map",
      parseMappings,
    )
}

function toKeyInput(flags: KeyCreateFlags): KeyInput {
  const { name, balance } = flags
  return { ...toKeyChangeInput(flags), name, ...(balance !== undefined && { balance }) }
}

function toKeyChangeInput(flags: KeyChangeFlags): KeyChangeInput {
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
  return { ...omitUndefined(members), ...toGrantInput(flags) } as KeyChangeInput
}

function printKey(key: KeyView, what: string, { json }: JsonFlags): void {
  print(json ? JSON.stringify(key) : `${what} ${key.id} (${key.name}).`)
}

function printMinted(minted: MintedKeyView, { json }: JsonFlags): void {
  const { name, id, key, previous_until } = minted
  if (json) {
    print(JSON.stringify(minted))
    return
  }
  print(`${name} (${id}); this key is shown only once:\n\n  ${key}\n`)
  if (previous_until !== undefined) print(describeGrace(previous_until))
}

function describeGrace(until: string): string {
  if (Date.parse(until) <= Date.now()) return "The old key is no longer valid."
  return `The old key is valid until ${until.slice(0, 16).replace("T", " ")} UTC.`
}

function printKeys(keys: readonly KeyView[], { json }: JsonFlags): void {
  if (json) print(JSON.stringify(keys))
  else if (keys.length === 0) print("No keys exist. Create one: trivium keys create --name NAME")
  else print(formatTable(["ID", "NAME", "TENANT", "KEY", "MODELS", "LIMITS", "STATE"], keys.map(keyRow)))
}

function keyRow(key: KeyView): string[] {
  return [
    key.id,
    key.name,
    key.tenant,
    key.hint,
    key.models?.join(",") ?? "all",
    formatLimits(key, key.own_balance ? key : { balance: null }) || "default",
    keyState(key),
  ]
}

function keyState({ revoked_at, expires_at }: KeyView): string {
  if (revoked_at !== null) return `revoked ${day(revoked_at)}`
  if (expires_at === null) return "valid"
  return Date.parse(expires_at) <= Date.now() ? `expired ${day(expires_at)}` : `valid until ${day(expires_at)}`
}

function day(time: string): string {
  return time.slice(0, 10)
}

function parseMappings(text: string, given?: FlagBound<readonly ModelMapEntry[]>): FlagBound<readonly ModelMapEntry[]> {
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

function parseDuration(text: string): number {
  const [, amount, unit = ""] = /^(\d+)([mhd])$/.exec(text) ?? []
  const ms = Number(amount) * (UNITS[unit] ?? Number.NaN)
  if (Number.isNaN(ms)) throw new InvalidArgumentError("Give a number and m, h or d, such as 30d.")
  return ms
}

function parseExpiry(text: string): FlagBound<number> {
  if (text === "never") return { to: null }
  if (/^\d+[mhd]$/.test(text)) return { to: Date.now() + parseDuration(text) }
  const date = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(date)) throw new InvalidArgumentError("Give 30d, 12h, 45m, a date such as 2027-01-31, or never.")
  return { to: date }
}
