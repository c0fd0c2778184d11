// The languages whose libraries are driven: how each is made ready, and the command that drives its libraries.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const folder = import.meta.dir
/** Installs outlive a run, outside the repository. */
const cache = join(tmpdir(), "trivium-clients")

export interface DriverLanguage {
  readonly name: string
  /** The command that drives the libraries, or why it cannot be run here. */
  prepare(): DriverCommand | SkipReason
}

export interface DriverCommand {
  readonly words: readonly string[]
}

interface SkipReason {
  readonly reason: string
}

export const languages: readonly DriverLanguage[] = [
  { name: "javascript", prepare: prepareJavascript },
  { name: "python", prepare: preparePython },
  { name: "go", prepare: prepareGo },
]

function prepareJavascript(): DriverCommand | SkipReason {
  const ensure = join(folder, "..", "..", "scripts", "ensure-packages.mjs")
  const failure = run("node", [ensure, "test/clients"])
  if (failure) return { reason: `its packages cannot be installed: ${failure}` }
  return { words: ["node", join(folder, "javascript", "driver.mjs")] }
}

/** A virtual environment for each content of the requirements. */
function preparePython(): DriverCommand | SkipReason {
  const python = ["python3", "python"].find(
    (name) => run(name, ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]) === undefined,
  )
  if (python === undefined) return { reason: "there is no Python 3.10 or later" }
  const requirements = join(folder, "python", "requirements.txt")
  const environment = join(cache, `python-${hashOf(requirements)}`)
  const done = join(environment, "installed")
  const interpreter = join(environment, "bin", "python")
  if (!existsSync(done)) {
    console.log(`installing the Python libraries in ${environment}`)
    mkdirSync(cache, { recursive: true })
    const failure =
      run(python, ["-m", "venv", "--clear", environment]) ??
      run(interpreter, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements])
    if (failure) return { reason: `its libraries cannot be installed: ${failure}` }
    writeFileSync(done, "")
  }
  return { words: [interpreter, join(folder, "python", "driver.py")] }
}

function prepareGo(): DriverCommand | SkipReason {
  const program = join(cache, "go-driver")
  if (run("go", ["version"]) !== undefined) return { reason: "there is no Go" }
  mkdirSync(cache, { recursive: true })
  const failure = run("go", ["build", "-mod=readonly", "-o", program, "."], join(folder, "go"))
  return failure ? { reason: `its driver cannot be built: ${failure}` } : { words: [program] }
}

/** The last lines of what went wrong; undefined where nothing did. */
function run(program: string, words: readonly string[], cwd = folder): string | undefined {
  const { status, error, stderr, stdout } = spawnSync(program, words, { cwd, encoding: "utf8" })
  if (error) return error.message
  return status === 0 ? undefined : `${stderr}${stdout}`.trim().split("\n").slice(-3).join(" / ")
}

function hashOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex").slice(0, 12)
}
