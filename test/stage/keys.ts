// Keys made from the command line, on a data folder that no gateway runs on yet.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { runCommand } from "./gateway.ts"

export interface StagedKey {
  readonly id: string
  readonly key: string
}

export class KeyFolder {
  readonly path = mkdtempSync(join(tmpdir(), "trivium-keys-"))

  /** Runs `trivium keys …` here. */
  run(...words: string[]): ReturnType<typeof runCommand> {
    return runCommand(["keys", ...words, "--data", this.path], { folder: this.path })
  }

  /** As `run`, with `--json`; the command must succeed. */
  async json<Result>(...words: string[]): Promise<Result> {
    const { code, stdout, stderr } = await this.run(...words, "--json")
    if (code !== 0) throw new Error(`keys ${words.join(" ")} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }

  create(name: string, ...words: string[]): Promise<StagedKey> {
    return this.json("create", "--name", name, ...words)
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
