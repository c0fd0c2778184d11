// trivium explain: asks a running gateway what would become of a request, and shows it. Nobody is called.
import { readFileSync } from "node:fs"
import { Command, InvalidArgumentError } from "commander"
import { isObject, type JsonObject } from "../../canonical/json.ts"
import { describeJsonFault } from "../../canonical/json-fault.ts"
import { type ConfigFlags, withStoreFlags } from "../command-flags.ts"
import { buildExplainRequest, type ExplainRequest, PROTOCOL_NAMES } from "../explain-request.ts"
import { describeExplanation, type ExplanationResponse } from "../explanation-response.ts"
import { print } from "../print.ts"

/** The address at which the gateway on the data folder is asked; undefined where none runs. */
export type FindGateway = (flags: ConfigFlags) => string | undefined

interface ExplainFlags extends ConfigFlags {
  readonly protocol?: string
  readonly model?: string
  readonly url?: string
  readonly key?: string
  readonly json?: true
}

export function explainCommand(find: FindGateway): Command {
  return withStoreFlags(
    new Command("explain").description("show where a request would go, what it would cost and what would be sent"),
  )
    .argument("[file]", "the request's body, in JSON; left out or -, it is read from standard input")
    .option("--protocol <name>", `${PROTOCOL_NAMES.join(", ")} (default: by the body)`, protocol)
    .option("--model <model>", "in place of the one the body names")
    .option("--url <address>", "a gateway elsewhere, such as http://gateway:8080")
    .option("--key <key>", "the API key whose request it would be (TRIVIUM_KEY; a list of processes shows --key)")
    .option("--json", "print JSON, with the bodies that would be sent")
    .action(async (file: string | undefined, flags: ExplainFlags) => {
      const asked = buildExplainRequest(bodyIn(file), flags)
      const explanation = await sendExplainRequest(asked, { url: addressOf(flags, find), key: keyOf(flags) })
      print(
        flags.json ? JSON.stringify(explanation) : describeExplanation(explanation as unknown as ExplanationResponse),
      )
    })
}

function protocol(text: string): string {
  if (PROTOCOL_NAMES.includes(text)) return text
  throw new InvalidArgumentError(`It is one of: ${PROTOCOL_NAMES.join(", ")}.`)
}

function bodyIn(file = "-"): JsonObject {
  const where = file === "-" ? "Standard input" : file
  let text = ""
  let body: unknown
  try {
    text = readFileSync(file === "-" ? 0 : file, "utf8")
    body = JSON.parse(text)
  } catch (cause) {
    const why = cause instanceof SyntaxError ? describeJsonFault(text, cause) : `${(cause as Error).message}`
    throw new Error(`${where} cannot be read as JSON: ${why}.`)
  }
  if (isObject(body)) return body
  throw new Error(`${where} is not a request: it holds no JSON object.`)
}

function addressOf({ url, ...flags }: ExplainFlags, find: FindGateway): string {
  const address = url ?? find(flags)
  if (address !== undefined) return address.replace(/\/+$/, "")
  throw new Error("No gateway runs on this data folder. Start one with `trivium serve`, or name one with --url.")
}

function keyOf({ key = process.env.TRIVIUM_KEY }: ExplainFlags): string {
  if (key) return key
  throw new Error("Set TRIVIUM_KEY to the API key whose request it would be.")
}

async function sendExplainRequest(
  { path, body, headers }: ExplainRequest,
  { url, key }: { url: string; key: string },
): Promise<JsonObject> {
  const told = { ...headers, authorization: `Bearer ${key}`, "content-type": "application/json" }
  const sent = { method: "POST", headers: told, body: JSON.stringify(body) }
  const response = await fetch(url + path, sent).catch(() => undefined)
  if (!response) throw new Error(`The gateway ${url} does not answer.`)
  const answer: unknown = await response.json().catch(() => undefined)
  if (!isObject(answer)) throw new Error(`What answers at ${url} is not a gateway.`)
  if (isObject(answer.error)) throw new Error(String(answer.error.message))
  if (answer.object === "explanation") return answer
  throw new Error(`The gateway ${url} does not explain requests.`)
}
