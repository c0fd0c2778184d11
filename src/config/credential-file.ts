// Files that hold credentials. They are read with the configuration, and every file read is reported to the loader,
// which watches it for changes.
import { readFileSync, statSync } from "node:fs"
import { resolve } from "node:path"
import { ParseProblem, type TextParser } from "./config-shape.ts"
import { credential } from "./parse-values.ts"
import { Secret } from "./secret.ts"

/** A file that was read, and its content then. */
export interface CredentialFile {
  /** Absolute. */
  readonly path: string
  readonly text: Secret
}

export interface CredentialFileContext {
  /** The base of relative paths. */
  readonly workingDir: string
  /** Every file that was read. */
  readonly files: CredentialFile[]
}

const MAX_FILE_BYTES = 64 * 1024

/** The text of a file that may hold a credential. */
export function readCredentialFile(
  path: string,
  { workingDir, files }: CredentialFileContext,
): CredentialFile | ParseProblem {
  const file = resolve(workingDir, path)
  try {
    const { size, isRegular } = describeFile(file)
    // Only regular files: a pipe or a device might never end.
    if (!isRegular) return new ParseProblem(`${file} is not a regular file`)
    if (size > MAX_FILE_BYTES) return new ParseProblem(`the file ${file} is larger than ${MAX_FILE_BYTES / 1024} KiB`)
    const read = { path: file, text: new Secret(readFileSync(file, "utf8")) }
    files.push(read)
    return read
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error"
    return new ParseProblem(
      code === "ENOENT" ? `there is no file ${file}` : `the file ${file} cannot be read (${code})`,
    )
  }
}

function describeFile(file: string): { size: number; isRegular: boolean } {
  const found = statSync(file)
  return { size: found.size, isRegular: found.isFile() }
}

const FILE_REFERENCE = /^file:(?:\/\/(?=\/))?(.+)$/s
const OTHER_REFERENCE = /^([a-z][a-z0-9+.-]*:\/\/)/i

/** A literal credential, or `file:PATH` for the content of a file. */
export function credentialOrFile(reading: CredentialFileContext): TextParser<Secret> {
  return secretOrFile((text) => {
    const [, scheme] = OTHER_REFERENCE.exec(text.trim()) ?? []
    return scheme === undefined ? credential(text) : new ParseProblem(describeUnresolvedScheme(scheme))
  }, reading)
}

/** A value for `parse`, or `file:PATH` for a file that holds it. */
export function secretOrFile(parse: TextParser<Secret>, reading: CredentialFileContext): TextParser<Secret> {
  return (text) => {
    const path = FILE_REFERENCE.exec(text.trim())?.[1]
    return path === undefined ? parse(text) : readSecretFromFile(path, parse, reading)
  }
}

function describeUnresolvedScheme(scheme: string): string {
  return `references such as ${scheme}… are not supported, because the gateway runs no commands; write the credential to a file and refer to it as "file:/path/to/file", or to a variable as "\${NAME}"`
}

function readSecretFromFile(
  path: string,
  parse: TextParser<Secret>,
  reading: CredentialFileContext,
): Secret | ParseProblem {
  const file = readCredentialFile(path, reading)
  if (file instanceof ParseProblem) return file
  if (file.text.reveal().trim() === "") return new ParseProblem(`the file ${file.path} is empty`)
  const found = parse(file.text.reveal())
  if (found instanceof ParseProblem)
    return new ParseProblem(`the file ${file.path} does not contain a credential: ${found.message}`)
  return new Secret(found.reveal(), `file ${file.path}`)
}
