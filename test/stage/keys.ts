// Creates keys in a data folder before a gateway runs on it.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { KeyRegistry } from "../../src/access/key-registry.ts"
import { loadConfig } from "../../src/config/load-config.ts"
import { knownProviders } from "../../src/gateway-table.ts"
import { openAdminService } from "../../src/open-store.ts"
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

  /** `run` with `--json`; the command must succeed. */
  async json<Result>(...words: string[]): Promise<Result> {
    const { code, stdout, stderr } = await this.run(...words, "--json")
    if (code !== 0) throw new Error(`keys ${words.join(" ")} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }

  create(name: string, ...words: string[]): Promise<StagedKey> {
    return this.json("create", "--name", name, ...words)
  }

  /** Makes keys in this process: quicker, where the command line is not what a test is about. */
  within<Result>(act: (keys: KeyRegistry) => Result): Result {
    const flags = { data: this.path }
    const config = loadConfig({ flags, environment: {}, workingDir: this.path, knownProviders })
    const { keys, close } = openAdminService(config, {})
    try {
      return act(keys)
    } finally {
      close()
    }
  }

  /** One key of each kind a caller may come with; the narrow one holds none of the stage's models. */
  eachKind(): { readonly whole: string; readonly narrow: string; readonly expired: string; readonly revoked: string } {
    return this.within((store) => {
      const revoked = store.create({ name: "revoked" })
      store.revoke(revoked.key.id)
      return {
        whole: store.create({ name: "whole" }).text,
        narrow: store.create({ name: "narrow", models: ["other/*"] }).text,
        expired: store.create({ name: "expired", expiresAt: Date.parse("2020-01-31") }).text,
        revoked: revoked.text,
      }
    })
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
