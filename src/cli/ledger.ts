// trivium ledger: verify the books; list, settle and return what is in suspense.
import { Command } from "commander"
import { atDesk, type OpenDesk } from "./desk.ts"
import { type JsonFlags, withAdminFlags } from "./flags.ts"
import { print } from "./print.ts"
import type { Verdict } from "./shown-books.ts"
import { suspenseCommand } from "./suspense.ts"

export function ledgerCommand(open: OpenDesk): Command {
  const command = new Command("ledger").description("verify the books; settle or return what is in suspense")
  withAdminFlags(command.command("verify").description("recompute every balance, hold and sum from what was booked"))
    .option("--json", "print JSON")
    .action((flags: JsonFlags) =>
      atDesk(open, flags, async ({ books }) => {
        const verdict = await books.verify()
        print(flags.json ? JSON.stringify(verdict) : told(verdict))
        if (!verdict.sound) process.exitCode = 1
      }),
    )
  command.addCommand(suspenseCommand(open))
  return command
}

function told({ sound, problems }: Verdict): string {
  if (sound) return "The ledger is sound."
  return problems.map(({ invariant, what }) => `${invariant}: ${what}`).join("\n")
}
