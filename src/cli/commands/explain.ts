// trivium explain: shows how a running gateway would handle a request. No provider is called.
import { readFileSync } from "node:fs"
import { Command, InvalidArgumentError } from "commander"
import { isObject, type JsonObject } from "../../canonical/json.ts"
import { describeJsonFault } from "../../canonical/json-fault.ts"
import { type ConfigFlags, withStoreFlags } from "../command-flags.ts"
import { buildExplainRequest, type ExplainRequest, PROTOCOL_NAMES } from "../explain-request.ts"
import { describeExplanation, type ExplanationResponse } from "../explanation-response.ts"
import { print } from "../print.ts"

/** Address of the gateway that runs on the data folder; undefined if none runs. */
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
    new Command("explain").description(
      "show where a request would be routed, what it would cost and what would be sent",
    ),
  )
    .argument("[file]", "file with the JSON request body (default, or -: standard input)")
    .option("--protocol <name>", `${PROTOCOL_NAMES.join(", ")} (default: detect from the body)`, protocol)
    .option("--model <model>", "model to use instead of the one in the body")
    .option("--url <address>", "address of a remote gateway, such as http://gateway:8080")
    .option("--key <key>", "API key to explain the request for (prefer TRIVIUM_KEY: process lists show --key)")
    .option("--json", "print JSON, including the bodies that would be sent")
    .action(async (file: string | undefined, flags: ExplainFlags) => {
      const request = buildExplainRequest(bodyIn(file), flags)
      const explanation = await sendExplainRequest(request, { url: addressOf(flags, find), key: keyOf(flags) })
      print(
        flags.json ? JSON.stringify(explanation) : describeExplanation(explanation as unknown as ExplanationResponse),
      )
    })
}

function protocol(text: string): string {
  if (PROTOCOL_NAMES.includes(text)) return text
  throw new InvalidArgumentError(`Use one of: ${PROTOCOL_NAMES.join(", ")}.`)
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
  throw new Error(`${where} is not a request: it is not a JSON object.`)
}

function addressOf({ url, ...flags }: ExplainFlags, find: FindGateway): string {
  const address = url ?? find(flags)
  if (address !== undefined) return address.replace(/\/+$/, "")
  throw new Error(
    "No gateway is running on this data folder. Start one with `trivium serve`, or give the address of one with --url.",
  )
}

function keyOf({ key = process.env.TRIVIUM_KEY }: ExplainFlags): string {
  if (key) return key
  throw new Error("No API key was given. Set TRIVIUM_KEY to the API key to explain the request for.")
}

async function sendExplainRequest(
  { path, body, headers }: ExplainRequest,
  { url, key }: { url: string; key: string },
): Promise<JsonObject> {
  const requestHeaders = { ...headers, authorization: `Bearer ${key}`, "content-type": "application/json" }
  const sent = { method: "POST", headers: requestHeaders, body: JSON.stringify(body) }
  const response = await fetch(url + path, sent).catch(() => undefined)
  if (!response)
    throw new Error(`The gateway at ${url} does not respond. Check that it is running and the address is right.`)
  const answer: unknown = await response.json().catch(() => undefined)
  if (!isObject(answer)) throw new Error(`The server at ${url} is not a gateway. Check the address.`)
  if (isObject(answer.error)) throw new Error(String(answer.error.message))
  if (answer.object === "explanation") return answer
  throw new Error(`The gateway at ${url} does not support explaining requests.`)
}
