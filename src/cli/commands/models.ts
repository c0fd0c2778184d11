// trivium models: lists the models and their providers.
import { Command } from "commander"
import { type AdminFlags, withAdminFlags } from "../command-flags.ts"
import { formatTable, print } from "../print.ts"

/** A model as the administration shows it. */
export interface ListedModel {
  readonly id: string
  readonly kind: string
  readonly context_window: number | null
  readonly targets: readonly ListedTarget[]
}

interface ListedTarget {
  readonly provider: string
  readonly model: string
  readonly live: boolean
  /** Models without a price cannot be called. */
  readonly priced: boolean
}

export type ListGatewayModels = (flags: AdminFlags) => Promise<readonly ListedModel[]>

export function modelsCommand(list: ListGatewayModels): Command {
  const command = new Command("models").description("list the models that can be called, with their providers")
  return withAdminFlags(command)
    .option("--all", "include models without a configured provider or a price")
    .option("--json", "print JSON")
    .action(async (flags: AdminFlags & { all?: true; json?: true }) => {
      const models = await list(flags)
      const shown = flags.all ? models : models.filter(({ targets }) => targets.some(isCallable))
      if (flags.json) print(JSON.stringify(shown))
      else if (shown.length === 0)
        print("The configured providers serve no model. List all known models: trivium models --all")
      else print(formatTable(["MODEL", "KIND", "CONTEXT", "SERVED BY"], shown.map(modelRow)))
    })
}

function modelRow({ id, kind, context_window, targets }: ListedModel): string[] {
  const live = [...new Set(targets.filter(isCallable).map(({ provider }) => provider))]
  return [id, kind, context_window === null ? "" : String(context_window), live.join(", ")]
}

function isCallable({ live, priced }: ListedTarget): boolean {
  return live && priced
}
