// trivium keys: create, list, rotate, revoke.
import { Command, InvalidArgumentError } from "commander"
import type { Key, Keys, MintedKey } from "../accounts/keys.ts"
import { type ConfigFlags, withStoreFlags } from "./flags.ts"
import { print, table } from "./print.ts"

export type OpenKeys = (flags: ConfigFlags) => { keys: Keys; close: () => void }

interface Common extends ConfigFlags {
  readonly json?: true
}

interface CreateFlags extends Common {
  readonly name: string
  readonly tenant?: string
  readonly models?: string[]
  readonly expires?: number
}

export function keysCommand(open: OpenKeys): Command {
  const command = new Command("keys").description("create, list, rotate and revoke API keys")
  const add = (name: string, description: string) =>
    withStoreFlags(command.command(name).description(description)).option("--json", "print JSON")

  add("create", "create a key and print it, this once")
    .requiredOption("--name <name>", "what it is for")
    .option("--tenant <tenant>", "whom it belongs to (default: default)")
    .option("--models <patterns>", "models it may call, such as openai/*,meta/llama-3.3-70b (default: all)", list)
    .option("--expires <when>", "30d, 12h, 45m or a date such as 2027-01-31 (default: never)", instant)
    .action((flags: CreateFlags) => within(open, flags, (keys) => printMinted(keys.create(wish(flags)), flags)))
  add("list", "list all keys").action((flags: Common) => within(open, flags, (keys) => printKeys(keys.list(), flags)))
  add("rotate <id>", "give a key a new text; the old one works on for a while")
    .option("--grace <duration>", "how long the old text still works, such as 1h (default: 24h)", duration)
    .action((id: string, flags: Common & { grace?: number }) =>
      within(open, flags, (keys) => {
        printMinted(keys.rotate(id, flags.grace === undefined ? {} : { graceMs: flags.grace }), flags)
      }),
    )
  add("revoke <id>", "let nobody in with this key any more").action((id: string, flags: Common) =>
    within(open, flags, (keys) => {
      const key = keys.revoke(id)
      print(flags.json ? JSON.stringify(shown(key)) : `Revoked ${key.id} (${key.name}).`)
    }),
  )
  return command
}

function within(open: OpenKeys, flags: ConfigFlags, act: (keys: Keys) => void): void {
  const { keys, close } = open(flags)
  try {
    act(keys)
  } finally {
    close()
  }
}

function wish({ name, tenant, models, expires }: CreateFlags) {
  return {
    name,
    ...(tenant !== undefined && { tenant }),
    ...(models && { models }),
    ...(expires !== undefined && { expiresAt: expires }),
  }
}

function printMinted({ key, text }: MintedKey, { json }: Common): void {
  if (json) print(JSON.stringify({ ...shown(key), key: text }))
  else print(`${key.name} (${key.id}), shown this once:\n\n  ${text}\n`)
}

function printKeys(keys: readonly Key[], { json }: Common): void {
  if (json) print(JSON.stringify(keys.map(shown)))
  else if (keys.length === 0) print("There are no keys. Create one: trivium keys create --name NAME")
  else print(table(["ID", "NAME", "TENANT", "KEY", "MODELS", "STATE"], keys.map(row)))
}

function row(key: Key): string[] {
  return [key.id, key.name, key.tenant, key.hint, key.models?.join(",") ?? "all", state(key)]
}

function state({ revokedAt, expiresAt }: Key): string {
  if (revokedAt !== null) return `revoked ${day(revokedAt)}`
  if (expiresAt === null) return "valid"
  return expiresAt <= Date.now() ? `expired ${day(expiresAt)}` : `valid until ${day(expiresAt)}`
}

function day(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

function shown({ id, name, tenant, hint, models, createdAt, expiresAt, revokedAt }: Key) {
  const time = (value: number | null) => (value === null ? null : new Date(value).toISOString())
  return {
    id,
    name,
    tenant,
    hint,
    models,
    created_at: time(createdAt),
    expires_at: time(expiresAt),
    revoked_at: time(revokedAt),
  }
}

function list(text: string): string[] {
  const items = text.split(",").map((item) => item.trim())
  if (items.some((item) => item === "")) throw new InvalidArgumentError("Give patterns separated by commas.")
  return items
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function duration(text: string): number {
  const [, amount, unit = ""] = /^(\d+)([mhd])$/.exec(text) ?? []
  const ms = Number(amount) * (UNITS[unit] ?? Number.NaN)
  if (Number.isNaN(ms)) throw new InvalidArgumentError("Give a number and m, h or d, such as 30d.")
  return ms
}

function instant(text: string): number {
  if (/^\d+[mhd]$/.test(text)) return Date.now() + duration(text)
  const date = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(date)) throw new InvalidArgumentError("Give 30d, 12h, 45m or a date such as 2027-01-31.")
  return date
}
