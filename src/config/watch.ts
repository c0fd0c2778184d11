// Notices changes of a file's content: of the configuration, or of a file that it names. Watches the folder, because a
// watch on the file is lost when an editor or Kubernetes replaces it; only the content decides.
import { type FSWatcher, readFileSync, realpathSync, statSync, watch } from "node:fs"
import { readFile } from "node:fs/promises"
import { basename, dirname } from "node:path"

export interface ConfigWatchOptions {
  /** Called once for every settled change, with the content that settled. It must not throw. */
  readonly onChange: (text: string) => void
  /** Called once when the file has become unreadable, or is gone, with the system's code such as `ENOENT`. */
  readonly onUnreadable?: (code: string) => void
  /** The content counts as settled when two reads this long apart agree. */
  readonly debounceMs?: number
  /** The current content; absent, the file's content when the watch begins. */
  readonly inForce?: string
  /** Polling interval: network folders and replaced folders send no events. */
  readonly pollMs?: number
}

/** The result of reading the file. */
type FileState = { readonly text: string } | { readonly code: string }

/**
 * Watches from the file's current content; started before loading, it misses no change between the two. A removed file
 * is not a change: the last good configuration stays until there is new content.
 */
export function watchConfig(
  file: string,
  { onChange, onUnreadable, inForce, debounceMs = 100, pollMs = 5000 }: ConfigWatchOptions,
): { stop(): void } {
  const folder = watchFolder(file, () => lookLater())
  const poll = setInterval(() => {
    folder.renew()
    lookLater()
  }, pollMs)
  poll.unref()
  let settled: FileState = inForce === undefined ? readState(file) : { text: inForce }
  let loaded = textIn(settled)
  let candidate: FileState | undefined
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  // A running timer is not postponed, or a busy folder would delay the check for ever.
  function lookLater() {
    if (stopped || timer !== undefined) return
    timer = setTimeout(look, debounceMs)
    timer.unref()
  }

  async function look() {
    // Cleared before reading: changes during it need another look.
    timer = undefined
    const found = await readFile(file, "utf8").then((text) => ({ text }), unreadableState)
    if (stopped) return
    const isNew = !isSame(found, settled)
    const isSettled = isNew && candidate !== undefined && isSame(found, candidate)
    candidate = isNew && !isSettled ? found : undefined
    if (candidate) lookLater()
    if (isSettled) tell(found)
  }

  function tell(found: FileState) {
    settled = found
    if ("code" in found) onUnreadable?.(found.code)
    else if (found.text !== loaded) {
      loaded = found.text
      onChange(found.text)
    }
  }

  // The file may have changed since that content was read.
  if (inForce !== undefined) lookLater()
  return {
    stop() {
      stopped = true
      clearTimeout(timer)
      clearInterval(poll)
      folder.close()
    },
  }
}

/**
 * Watches the file's folder, which may be missing or replaced by another of the same name. For other files in it, such
 * as a log, only creation and removal count: they may be written to all the time.
 */
function watchFolder(file: string, onEvent: () => void): { renew(): void; close(): void } {
  const path = dirname(file)
  let names: readonly string[] = []
  let watcher: FSWatcher | undefined
  let inode: number | undefined

  function close() {
    watcher?.close()
    watcher = undefined
  }

  function onAny(event: string, name: string | null) {
    if (event !== "change" || name === null || names.includes(name)) onEvent()
  }

  function renew() {
    try {
      names = [basename(file), basename(realPath(file))]
      const present = statSync(path, { throwIfNoEntry: false })?.ino
      if (watcher !== undefined && present === inode) return
      close()
      inode = present
      if (present !== undefined) watcher = watch(path, { persistent: false }, onAny).on("error", close)
    } catch {
      // Removed again, unreachable, or no watches left: polling continues.
    }
  }

  renew()
  return { renew, close }
}

function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

function readState(file: string): FileState {
  try {
    return { text: readFileSync(file, "utf8") }
  } catch (thrown) {
    return unreadableState(thrown)
  }
}

function unreadableState(thrown: unknown): FileState {
  return { code: (thrown as NodeJS.ErrnoException).code ?? "unknown error" }
}

function textIn(state: FileState): string | undefined {
  return "text" in state ? state.text : undefined
}

function isSame(one: FileState, other: FileState): boolean {
  return "text" in one ? "text" in other && one.text === other.text : "code" in other && one.code === other.code
}
