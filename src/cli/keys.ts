// trivium keys: create, list, rotate, revoke.
import { Command, InvalidArgumentError } from "commander"
import type { AskedKey, ShownKey, ShownMintedKey } from "../accounts/shown-key.ts"
import { type AdminFlags, withAdminFlags } from "./flags.ts"
import type { KeyDesk } from "./key-desk.ts"
import { print, table } from "./print.ts"

export type OpenDesk = (flags: AdminFlags) => KeyDesk

interface Common extends AdminFlags {
  readonly json?: true
}

interface CreateFlags extends Common {
  readonly name: string
  readonly tenant?: string
  readonly models?: string[]
  readonly strict?: true
  readonly expires?: number
}

export function keysCommand(open: OpenDesk): Command {
  const command = new Command("keys").description("create, list, rotate and revoke API keys")
  const add = (name: string, description: string) =>
    withAdminFlags(command.command(name).description(description)).option("--json", "print JSON")

  add("create", "create a key and print it, this once")
    .requiredOption("--name <name>", "what it is for")
    .option("--tenant <tenant>", "whom it belongs to (default: default)")
    .option("--models <patterns>", "models it may call, such as openai/*,meta/llama-3.3-70b (default: all)", list)
    .option(
      "--strict",
      "refuse requests that a provider of another protocol cannot be told without a change of meaning",
    )
    .option("--expires <when>", "30d, 12h, 45m or a date such as 2027-01-31 (default: never)", instant)
    .action((flags: CreateFlags) =>
      within(open, flags, async (desk) => printMinted(await desk.create(asked(flags)), flags)),
    )
  add("list", "list all keys").action((flags: Common) =>
    within(open, flags, async (desk) => printKeys(await desk.list(), flags)),
  )
  add("rotate <id>", "give a key a new text; the old one works on for a while")
    .option("--grace <duration>", "how long the old text still works, such as 1h (default: 24h)", duration)
    .action((id: string, flags: Common & { grace?: number }) =>
      within(open, flags, async (desk) => printMinted(await desk.rotate(id, { graceMs: flags.grace }), flags)),
    )
  add("revoke <id>", "let nobody in with this key any more").action((id: string, flags: Common) =>
    within(open, flags, async (desk) => {
      const key = await desk.revoke(id)
      print(flags.json ? JSON.stringify(key) : `Revoked ${key.id} (${key.name}).`)
    }),
  )
  return command
}

async function within(open: OpenDesk, flags: AdminFlags, act: (desk: KeyDesk) => Promise<void>): Promise<void> {
  const desk = open(flags)
  try {
    await act(desk)
  } finally {
    desk.close()
  }
}

function asked({ name, tenant, models, strict, expires }: CreateFlags): AskedKey {
  return {
    name,
    ...(tenant !== undefined && { tenant }),
    ...(models && { models }),
    ...(strict && { strict }),
    ...(expires !== undefined && { expires_at: new Date(expires).toISOString() }),
  }
}

function printMinted(minted: ShownMintedKey, { json }: Common): void {
  if (json) print(JSON.stringify(minted))
  else print(`${minted.name} (${minted.id}), shown this once:\n\n  ${minted.key}\n`)
}

function printKeys(keys: readonly ShownKey[], { json }: Common): void {
  if (json) print(JSON.stringify(keys))
  else if (keys.length === 0) print("There are no keys. Create one: trivium keys create --name NAME")
  else print(table(["ID", "NAME", "TENANT", "KEY", "MODELS", "STATE"], keys.map(row)))
}

function row(key: ShownKey): string[] {
  return [key.id, key.name, key.tenant, key.hint, key.models?.join(",") ?? "all", state(key)]
}

function state({ revoked_at, expires_at }: ShownKey): string {
  if (revoked_at !== null) return `revoked ${day(revoked_at)}`
  if (expires_at === null) return "valid"
  return Date.parse(expires_at) <= Date.now() ? `expired ${day(expires_at)}` : `valid until ${day(expires_at)}`
}

function day(time: string): string {
  return time.slice(0, 10)
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
