// The gateway without its ledger, to compare with the gateway that has one. Nothing is charged.
import { loadConfig } from "../src/config/load-config.ts"
import { Gateway } from "../src/gateway.ts"
import { knownProviders } from "../src/gateway-table.ts"
import { Log } from "../src/telemetry/log.ts"

const [port = "0", data = "", file = ""] = process.argv.slice(2)
const flags = { host: "127.0.0.1", port: Number(port), adminPort: "0", data, config: file }
const config = loadConfig({ flags, environment: {}, workingDir: process.cwd(), knownProviders })
const log = new Log({ write: (text) => process.stderr.write(text) })
const gateway = new Gateway({ config, environment: {}, log, bookWith: () => undefined })
console.log(`listening on ${gateway.url}`)
