// Drives the JavaScript libraries: reads the cells from the standard input, holds each conversation with each library of
// libraries/*.mjs, and prints one line of JSON for each cell.
import { readdirSync, readFileSync } from "node:fs"

const job = JSON.parse(readFileSync(0, "utf8"))
const folder = new URL("libraries/", import.meta.url)
// Some libraries report refused requests on the console, where the results go.
for (const word of ["log", "info", "warn", "error", "debug"]) console[word] = () => {}
process.on("unhandledRejection", () => {})

for (const file of readdirSync(folder).sort()) {
  const { clients } = await import(new URL(file, folder))
  for (const client of clients) {
    if (job.library !== undefined && !client.name.includes(job.library)) continue
    for (const cell of job.cells) process.stdout.write(`${JSON.stringify(await observe(client, cell))}\n`)
  }
}
process.exit(0)

async function observe(client, cell) {
  const { name: library, api, shows = () => true } = client
  const { model, scenario, thinking } = cell
  const head = { library, version: versionOf(client.package), api, model, scenario }
  const calls = []
  const pieces = []
  const callTool = (name, given) => {
    calls.push({ name, arguments: { city: given.city } })
    return `${name} of ${given.city}: fine`
  }
  const prompts = [`[cell ${library} | ${model} | ${scenario}] ${cell.prompts[0]}`, ...cell.prompts.slice(1)]
  const task = {
    ...cell,
    prompts,
    callTool,
    onPiece: (piece) => piece && pieces.push(piece),
    restart: () => pieces.splice(0),
  }
  try {
    const { texts, reasoning } = await client.ask(task, job)
    const thoughts = thinking && shows(cell) ? { reasoning: reasoning ?? "" } : {}
    return { ...head, texts, pieces, calls, ...thoughts }
  } catch (error) {
    return { ...head, pieces, calls, error: describe(client, { error, cell }) }
  }
}

function describe(client, { error, cell }) {
  const name = client.errorClass?.(error) ?? error?.constructor?.name ?? typeof error
  const expectedClass = client.errors[cell.failure ?? ""] ?? "no error"
  const status = error?.status ?? error?.statusCode
  const message = String(error?.message ?? error)
  return { class: name, expectedClass, message, ...(typeof status === "number" && { status }) }
}

function versionOf(name) {
  const path = new URL(`../node_modules/${name}/package.json`, import.meta.url)
  return JSON.parse(readFileSync(path, "utf8")).version
}
