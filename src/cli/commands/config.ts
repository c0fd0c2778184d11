// trivium config: describes the configuration file.
import { Command } from "commander"
import type { JsonObject } from "../../canonical/json.ts"
import { print } from "../print.ts"

export function configCommand(configSchema: () => JsonObject): Command {
  const config = new Command("config").description("describe the configuration file")
  config
    .command("schema")
    .description("print the JSON Schema of trivium.yaml, for editors")
    .action(() => print(JSON.stringify(configSchema(), null, 2)))
  return config
}
