// trivium ledger: verify the ledger; list, settle and return amounts in suspense.
import { Command } from "commander"
import { type JsonFlags, withAdminFlags } from "../command-flags.ts"
import type { VerificationResponse } from "../ledger-responses.ts"
import { print } from "../print.ts"
import { type OpenAdmin, withAdmin } from "../remote-admin.ts"
import { suspenseCommand } from "./suspense.ts"

export function ledgerCommand(open: OpenAdmin): Command {
  const command = new Command("ledger").description("verify the ledger; settle or return amounts in suspense")
  withAdminFlags(
    command.command("verify").description("recompute every balance, hold and total from the booked entries"),
  )
    .option("--json", "print JSON")
    .action((flags: JsonFlags) =>
      withAdmin(open, flags, async ({ ledger }) => {
        const verdict = await ledger.verify()
        print(flags.json ? JSON.stringify(verdict) : describeVerification(verdict))
        if (!verdict.sound) process.exitCode = 1
      }),
    )
  command.addCommand(suspenseCommand(open))
  return command
}

function describeVerification({ sound, problems }: VerificationResponse): string {
  if (sound) return "The ledger is consistent."
  return problems.map(({ invariant, what }) => `${invariant}: ${what}`).join("\n")
}
