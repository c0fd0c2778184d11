// Reads a secret from a file, from standard input, or typed without echo. Never from an argument,
// which every process on the machine can read.
import { readFileSync } from "node:fs"

const MAX_LENGTH = 64 * 1024
const CTRL_C = "\u0003"
const CTRL_D = "\u0004"
const ENTER = /[\r\n]/
const ERASE = /[\b\u007f]/

interface SecretSource {
  /** A file to read it from. */
  readonly file?: string | undefined
  /** Prompt for typed input. */
  readonly prompt: string
}

export async function readSecret({ file, prompt }: SecretSource): Promise<string> {
  const text = file === undefined ? await fromStandardInput(prompt) : fromFile(file)
  const secret = text.trim()
  if (secret === "") throw new Error("No secret was given. Pipe it in, type it, or pass a file with --key-file FILE.")
  return secret
}

function fromFile(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error"
    throw new Error(code === "ENOENT" ? `There is no file ${file}.` : `The file ${file} cannot be read (${code}).`)
  }
}

function fromStandardInput(prompt: string): Promise<string> {
  return process.stdin.isTTY ? readTyped(prompt) : readPiped()
}

async function readPiped(): Promise<string> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of process.stdin) {
    pieces.push(piece as Buffer)
    length += (piece as Buffer).length
    if (length > MAX_LENGTH) throw new Error("The piped input is too long to be a secret.")
  }
  return Buffer.concat(pieces).toString("utf8")
}

async function readTyped(prompt: string): Promise<string> {
  const { stdin, stderr } = process
  // Before the prompt: the terminal would echo an immediate answer.
  stdin.setRawMode(true)
  try {
    stderr.write(prompt)
    return await untilEnter(stdin)
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write("\n")
  }
}

async function untilEnter(input: AsyncIterable<Buffer>): Promise<string> {
  let text = ""
  for await (const piece of input) {
    for (const character of piece.toString("utf8")) {
      if (character === CTRL_C) throw new Error("Nothing was stored.")
      if (character === CTRL_D || ENTER.test(character)) return text
      text = ERASE.test(character) ? text.slice(0, -1) : text + character
    }
  }
  return text
}
