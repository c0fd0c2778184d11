// Flags that several commands share.
import type { Command } from "commander"

export interface ConfigFlags {
  readonly host?: string
  readonly port?: string
  readonly adminPort?: string
  readonly config?: string
  readonly data?: string
  readonly acceptLoss?: true
}

export function withStoreFlags(command: Command): Command {
  return command
    .option("--config <file>", "configuration file (TRIVIUM_CONFIG; default: trivium.yaml if it exists)")
    .option("--data <folder>", "data folder of the embedded store (TRIVIUM_DATA; default: ./data)")
}

/** For commands that open a store. */
export function withLossFlag(command: Command): Command {
  return command.option("--accept-loss", "open the store even if data or its secret is lost")
}

/** For commands that work on a store, or through the gateway that has it open. */
export interface AdminFlags extends ConfigFlags {
  readonly url?: string
}

export interface JsonFlags extends AdminFlags {
  readonly json?: true
}

export function withAdminFlags(command: Command): Command {
  return withLossFlag(withStoreFlags(command)).option(
    "--url <address>",
    "administration address of a remote gateway; its key is read from TRIVIUM_ADMIN_KEY",
  )
}
