// Notices changes of credential files, so that a rotated credential is used without a restart.
import type { CredentialFile } from "./credential-file.ts"
import { watchConfig } from "./watch.ts"

export class CredentialWatch {
  private readonly watched = new Map<string, { stop(): void }>()

  constructor(
    private readonly options: {
      readonly onChange: () => void
      /** Called once when a file has become unreadable, with the system's code such as `ENOENT`. */
      readonly onUnreadable: (path: string, code: string) => void
    },
  ) {}

  /** Watches exactly these files, starting from their content when they were read. */
  follow(files: readonly CredentialFile[]): void {
    this.stop()
    const { onChange, onUnreadable } = this.options
    for (const { path, text } of files) {
      const options = { onChange, onUnreadable: (code: string) => onUnreadable(path, code), inForce: text.reveal() }
      this.watched.set(path, watchConfig(path, options))
    }
  }

  stop(): void {
    for (const watch of this.watched.values()) watch.stop()
    this.watched.clear()
  }
}
