// Runs the tests on the project's own Bun: node scripts/test.mjs [--workers=N] [PART OF A FILE NAME …]
// The environment is empty but for what is listed here, so that no test can find a developer's credentials and spend
// money. `bun test` lets a file without tests and an early exit pass; this does not. The last line is the result.
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { environment, findBun, isolation } from "../bin/runtime.mjs"
import { hasClients, needsClients } from "./client-imports.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const kept = ["PATH", "HOME", "TMPDIR", "CI"]
const timeoutMs = 30_000

const words = process.argv.slice(2)
/** Processes that run files at the same time; without it, one runs all of them in order. */
const workers = words.find((word) => /^--workers=\d+$/.test(word))?.split("=")[1]
const found = findTests(words.filter((word) => !word.startsWith("--workers=")))
const passedOver = hasClients() ? [] : found.filter((file) => needsClients(join(root, file)))
const files = found.filter((file) => !passedOver.includes(file))
const folder = mkdtempSync(join(tmpdir(), "trivium-test-"))
const report = join(folder, "junit.xml")
try {
  const run = files.length > 0 ? await runTests(files) : { status: 0, output: "" }
  finish(judge(run))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Test files below src/ and test/ whose path holds one of the patterns. */
function findTests(patterns) {
  return ["src", "test"]
    .flatMap((name) => walk(join(root, name)))
    .map((path) => relative(root, path).split(sep).join("/"))
    .filter((path) => /\.test\.[cm]?[jt]sx?$/.test(path))
    .filter((path) => patterns.length === 0 || patterns.some((pattern) => path.includes(pattern.replace(/^\.\//, ""))))
    .sort()
}

function walk(path) {
  if (!existsSync(path)) return []
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : walk(join(path, entry.name))
    return [join(path, entry.name)]
  })
}

/** Passes Bun's output on as it comes and keeps a copy of its own words, which are all on stderr. */
function runTests(files) {
  const child = spawn(
    findBun(),
    [
      ...isolation,
      "test",
      // Without it all files share one global object: a mock or a timer of one reaches the others.
      "--isolate",
      ...(workers ? [`--parallel=${workers}`] : []),
      // A server that a test forgot would hold the output open, and this process with it.
      "--no-orphans",
      `--preload=${join(root, "scripts", "test-linger.mjs")}`,
      `--timeout=${timeoutMs}`,
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...files.map((file) => `./${file}`),
    ],
    { cwd: root, env: { ...cleanEnvironment(), ...environment }, stdio: ["ignore", "pipe", "pipe"] },
  )
  child.stdout.on("data", (chunk) => process.stdout.write(chunk))
  const chunks = []
  child.stderr.on("data", (chunk) => {
    chunks.push(chunk)
    process.stderr.write(chunk)
  })
  return new Promise((resolve, reject) => {
    child.on("error", reject)
    child.on("close", (code, signal) => resolve({ status: code ?? signal, output: Buffer.concat(chunks).toString() }))
  })
}

function cleanEnvironment() {
  const entries = Object.entries(process.env)
  return Object.fromEntries(entries.filter(([name]) => kept.includes(name) || name.startsWith("TRIVIUM_TEST_")))
}

/** The result of the run. Every fault counts as failed, even those that Bun does not count. */
function judge({ status, output }) {
  const summary = readSummary(output)
  const tested = testedFiles()
  const problems = []
  let { failed } = summary
  if (found.length === 0) problems.push("no test file matches")
  const stray = summary.errors > 0 || /^# Unhandled error/m.test(output)
  if (stray) problems.push("an error happened outside the tests")
  // A file that failed while loading has no tests either; the error is more useful.
  const empty = stray ? [] : files.filter((file) => !tested.has(file))
  for (const file of empty) problems.push(`${file} ran no test`)
  if (files.length > 0 && !summary.complete) problems.push("the run ended early, without a summary")
  if (status !== 0 && failed + problems.length === 0) problems.push(`bun ended with ${status}`)
  if (files.length > 0 && summary.passed + failed === 0 && problems.length === 0) problems.push("no test ran")
  failed += problems.length
  return { ...summary, failed, problems }
}

/** Bun's closing block: ` 4 pass`, ` 1 fail`, …, `Ran 5 tests across 2 files.` */
function readSummary(output) {
  const block = /((?:^ *\d+ [a-z() ]+\n)+)Ran \d+ tests? across [^\n]*\n*$/m.exec(output)?.[1]
  const count = (word) => Number(new RegExp(`^ *(\\d+) ${word}s?$`, "m").exec(block ?? "")?.[1] ?? 0)
  return {
    complete: block !== undefined,
    passed: count("pass"),
    failed: count("fail"),
    skipped: count("skip") + count("todo"),
    errors: count("error"),
  }
}

function testedFiles() {
  if (!existsSync(report)) return new Set()
  const suites = readFileSync(report, "utf8").matchAll(/<testsuite [^>]*?\bfile="([^"]*)" tests="([1-9]\d*)"/g)
  return new Set([...suites].map((suite) => suite[1].split("\\").join("/")))
}

function finish({ passed, failed, skipped, problems }) {
  for (const problem of problems) console.error(`error: ${problem}`)
  for (const file of passedOver) console.log(`skipped: ${file} (uses a package of test/clients)`)
  if (passedOver.length > 0) console.log("The packages of test/clients are not installed: npm ci --prefix test/clients")
  process.exitCode = failed === 0 ? 0 : 1
  const all = skipped + passedOver.length
  console.log(`${passed} passed, ${failed} failed${all > 0 ? `, ${all} skipped` : ""}`)
}
