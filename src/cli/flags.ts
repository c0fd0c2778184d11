// Flags that several commands share.
import type { Command } from "commander"

export interface ConfigFlags {
  readonly host?: string
  readonly port?: string
  readonly config?: string
  readonly data?: string
}

export function withStoreFlags(command: Command): Command {
  return command
    .option("--config <file>", "configuration file (TRIVIUM_CONFIG; default trivium.yaml where it exists)")
    .option("--data <folder>", "folder of the embedded store (TRIVIUM_DATA; default ./data)")
}
