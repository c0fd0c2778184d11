// What an operator types. Each command gets what it needs from the composition root.
import { Command } from "commander"
import type { ConfigFlags } from "./flags.ts"
import { withStoreFlags } from "./flags.ts"
import { keysCommand, type OpenKeys } from "./keys.ts"

export interface Actions {
  readonly serve: (flags: ConfigFlags) => Promise<void>
  readonly check: (flags: ConfigFlags) => Promise<void>
  readonly openKeys: OpenKeys
}

export function program(actions: Actions, version: string): Command {
  const trivium = new Command("trivium")
    .description("An LLM gateway: one address, one key, many models, three wire protocols.")
    .version(version)
    .showSuggestionAfterError()
  withStoreFlags(trivium.command("serve", { isDefault: true }).description("run the gateway (the default command)"))
    .option("--host <host>", "address to listen on (HOST; default 127.0.0.1)")
    .option("--port <port>", "port to listen on, 0 for any free one (PORT; default 8080)")
    .action(actions.serve)
  withStoreFlags(trivium.command("check").description("check the configuration and the providers' credentials")).action(
    actions.check,
  )
  trivium.addCommand(keysCommand(actions.openKeys))
  return trivium
}
