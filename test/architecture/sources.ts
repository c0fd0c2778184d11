import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** A source file: its path below src/ and its text. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

const src = join(import.meta.dir, "..", "..", "src")

/** Every source file below src/, without tests and fixtures. */
export function sourceFiles(): SourceFile[] {
  return readdirSync(src, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".ts") && !/\.(test|fixture)\.ts$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(src, path), "utf8") }))
}

export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "")
}
