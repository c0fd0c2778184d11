// The names that programs read: paths and members of both interfaces, metrics with their labels, members of `--json`
// output and of receipts, log fields, tables and columns. Descriptions are left out.
import { Database } from "bun:sqlite"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { RunningGateway, runCommand } from "../stage/gateway.ts"

export async function collectMachineNames(): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "trivium-names-"))
  const dataDir = join(folder, "data")
  try {
    const served = await servedNames(dataDir)
    // The store is locked while a gateway runs on it.
    return [...served, ...columnsOf(join(dataDir, "trivium.db"))].toSorted()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function servedNames(dataDir: string): Promise<string[]> {
  const gateway = await RunningGateway.start({ dataDir })
  try {
    const run = async (...command: string[]) => {
      const { stdout, stderr } = await runCommand([...command, "--json", "--data", gateway.dataDir], gateway)
      if (stdout === "") throw new Error(`${command.join(" ")} printed nothing: ${stderr}`)
      return JSON.parse(stdout)
    }
    const chat = { model: "openai/gpt-4o-mini", messages: [{ role: "user", content: "Hello!" }] }
    const answer = await gateway.chat({ ...chat, provider: { report: true } })
    const requestId = answer.headers.get("x-request-id") ?? ""
    const headers = [...answer.headers.keys()].map((name) => `header ${name}`)
    const receipt = await fetch(`${gateway.url}/v1/receipts/${requestId}`, {
      headers: { authorization: `Bearer ${gateway.key}` },
    })
    const explained = await gateway.chat({ ...chat, provider: { explain: true } })
    const created = await run("keys", "create", "--name", "machine", "--balance", "1", "--models", "openai/*")
    const commands: [string, unknown][] = [
      ["keys create", created],
      ["keys list", await run("keys", "list")],
      ["keys rotate", await run("keys", "rotate", created.id)],
      ["tenants create", await run("tenants", "create", "team", "--rpm", "10")],
      ["tenants list", await run("tenants", "list")],
      ["models", await run("models")],
      ["usage", await run("usage")],
      ["receipt", await run("receipt", requestId)],
      ["ledger verify", await run("ledger", "verify")],
      ["ledger suspense list", await run("ledger", "suspense", "list")],
      ["providers list", await run("providers", "list")],
      ["check", await run("check")],
    ]
    const admin = (await (await gateway.administer("/openapi.json")).json()) as OpenapiDocument
    const metrics = await (await gateway.administer("/metrics")).text()
    return [
      ...headers,
      ...membersOf("receipt of the holder", await receipt.json()),
      ...membersOf("explain", await explained.json()),
      ...commands.flatMap(([name, output]) => membersOf(`trivium ${name} --json`, output)),
      ...describedNames("openapi", (await (await fetch(`${gateway.url}/openapi.json`)).json()) as OpenapiDocument),
      ...describedNames("admin openapi", admin),
      ...metricNames(metrics),
      ...gateway
        .logged("exchange")
        .slice(0, 1)
        .flatMap((line) => membersOf("log exchange", line)),
    ]
  } finally {
    await gateway.stop()
  }
}

/** Paths of all members, with `[]` for the elements of a list and `*` for names that are data. */
function membersOf(what: string, value: unknown): string[] {
  const found = new Set<string>()
  const visit = (path: string, each: unknown) => {
    if (Array.isArray(each)) for (const element of each) visit(`${path}[]`, element)
    else if (typeof each === "object" && each !== null) {
      for (const [name, member] of Object.entries(each)) {
        const step = /[/ ]/.test(name) ? "*" : name
        found.add(`${what}: ${path}.${step}`)
        visit(`${path}.${step}`, member)
      }
    }
  }
  visit("", value)
  return [...found]
}

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly [keyword: string]: unknown
}

interface OpenapiOperation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: object }
  readonly responses?: Readonly<Record<string, { readonly headers?: object; readonly content?: object }>>
}

interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenapiOperation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, SchemaNode>> }
}

/** Routes with their parameters, statuses and headers; members of every schema, and what enumerations list. */
function describedNames(what: string, { paths, components }: OpenapiDocument): string[] {
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const name = `${what}: ${method.toUpperCase()} ${path}`
      const { parameters = [], requestBody, responses = {} } = operation
      return [
        name,
        ...parameters.map((parameter) => `${name} ${parameter.in} ${parameter.name}`),
        ...schemasIn(`${name} body`, requestBody?.content),
        ...Object.entries(responses).flatMap(([status, { headers = {}, content }]) => [
          `${name} ${status}`,
          ...Object.keys(headers).map((header) => `${name} ${status} header ${header}`),
          ...schemasIn(`${name} ${status}`, content),
        ]),
      ]
    }),
  )
  const schemas = Object.entries(components?.schemas ?? {})
  return [...new Set([...routes, ...schemas.flatMap(([name, schema]) => schemaNames(`${what}: ${name}`, schema))])]
}

function schemasIn(what: string, content: object = {}): string[] {
  return Object.entries(content).flatMap(([type, { schema = {} }]) => schemaNames(`${what} ${type}`, schema))
}

function schemaNames(path: string, schema: SchemaNode): string[] {
  const { properties = {}, items, enum: values, const: value } = schema
  const listed = [...(values ?? []), ...(value === undefined ? [] : [value])].map((each) => `${path} = ${each}`)
  const members = Object.entries(properties).flatMap(([name, member]) => [
    `${path} .${name}`,
    ...schemaNames(`${path} .${name}`, member),
  ])
  const choices = ["oneOf", "anyOf", "allOf"].flatMap((keyword) => (schema[keyword] ?? []) as SchemaNode[])
  return [
    ...listed,
    ...members,
    ...(items ? schemaNames(`${path}[]`, items) : []),
    ...choices.flatMap((each) => schemaNames(path, each)),
  ]
}

function metricNames(text: string): string[] {
  const names = new Set<string>()
  for (const line of text.split("\n")) {
    if (line.startsWith("# TYPE ")) names.add(`metric ${line.slice(7)}`)
    const [, name, labels = ""] = /^([a-z_]+)(?:\{(.*)\})? /.exec(line) ?? []
    const labelNames = [...labels.matchAll(/([a-z_]+)="/g)].map(([, label]) => label)
    if (name !== undefined) names.add(`metric ${name}{${labelNames.join(",")}}`)
  }
  return [...names]
}

function columnsOf(file: string): string[] {
  const database = new Database(file, { readonly: true })
  try {
    const tables = database.query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'").all()
    return tables.flatMap(({ name }) => {
      const columns = database.query<{ name: string; type: string }, []>(`PRAGMA table_info("${name}")`).all()
      return columns.map((column) => `table ${name}.${column.name} ${column.type}`)
    })
  } finally {
    database.close()
  }
}
