// The command-line program. The composition root passes each command its dependencies.
import { Command } from "commander"
import type { JsonObject } from "../canonical/json.ts"
import { nearestName, quoteName } from "../canonical/nearest-name.ts"
import type { AdminFlags, ConfigFlags } from "./command-flags.ts"
import { withLossFlag, withStoreFlags } from "./command-flags.ts"
import { completionCommand } from "./commands/completion.ts"
import { configCommand } from "./commands/config.ts"
import { explainCommand, type FindGateway } from "./commands/explain.ts"
import { keysCommand } from "./commands/keys.ts"
import { ledgerCommand } from "./commands/ledger.ts"
import { type ListGatewayModels, modelsCommand } from "./commands/models.ts"
import { providersCommand } from "./commands/providers.ts"
import { receiptCommand } from "./commands/receipt.ts"
import { type SimulateFlags, simulateCommand } from "./commands/simulate.ts"
import { tenantsCommand } from "./commands/tenants.ts"
import { usageCommand } from "./commands/usage.ts"
import type { OpenAdmin } from "./remote-admin.ts"

export interface CheckFlags extends AdminFlags {
  readonly json?: true
}

export interface CommandActions {
  readonly serve: (flags: ConfigFlags) => Promise<void>
  readonly check: (flags: CheckFlags) => Promise<void>
  readonly configSchema: () => JsonObject
  readonly openAdmin: OpenAdmin
  readonly listModels: ListGatewayModels
  readonly findGateway: FindGateway
  readonly simulate: (flags: SimulateFlags) => Promise<void>
}

export function buildProgram(actions: CommandActions, version: string): Command {
  const trivium = new Command("trivium")
    .description("An LLM gateway: one address, one key, many models, three wire protocols.")
    .version(version)
    .showSuggestionAfterError()
  withLossFlag(
    withStoreFlags(trivium.command("serve", { isDefault: true }).description("run the gateway (the default command)")),
  )
    .option("--host <host>", "address to listen on (HOST; default: 127.0.0.1)")
    .option("--port <port>", "port to listen on, 0 for any free port (PORT; default: 8080)")
    .option("--admin-port <port>", "administration port (ADMIN_PORT; default: 8081, or any free port)")
    .option("--no-restart", "do not restart after a crash; use with a supervisor such as systemd")
    .action(actions.serve)
  withStoreFlags(trivium.command("check").description("check the configuration and the providers' credentials"))
    .option(
      "--url <address>",
      "administration address of the running gateway to check; its key is read from TRIVIUM_ADMIN_KEY",
    )
    .option("--json", "print JSON")
    .action(actions.check)
  trivium.addCommand(keysCommand(actions.openAdmin, actions.listModels))
  trivium.addCommand(tenantsCommand(actions.openAdmin, actions.listModels))
  trivium.addCommand(usageCommand(actions.openAdmin))
  trivium.addCommand(receiptCommand(actions.openAdmin))
  trivium.addCommand(ledgerCommand(actions.openAdmin))
  trivium.addCommand(modelsCommand(actions.listModels))
  trivium.addCommand(providersCommand(actions.openAdmin))
  trivium.addCommand(explainCommand(actions.findGateway))
  trivium.addCommand(configCommand(actions.configSchema))
  trivium.addCommand(simulateCommand(actions.simulate))
  trivium.addCommand(completionCommand(trivium))
  return trivium.hook("preSubcommand", refuseUnknownCommand)
}

/** Without this the default command would accept an unknown command as its argument. */
function refuseUnknownCommand(trivium: Command): void {
  const [word] = trivium.args
  if (word === undefined || word.startsWith("-")) return
  const names = [...trivium.commands.map((command) => command.name()), "help"]
  if (names.includes(word)) return
  const meant = nearestName(word, names)
  const question = meant === undefined ? `Commands: ${names.join(", ")}.` : `Did you mean ${meant}?`
  trivium.error(`error: unknown command ${quoteName(word)}. ${question}`)
}
