// A file next to the database that records its position. A database that is behind it, or another one, has lost
// entries, which no check of its own could detect.
import { closeSync, fsync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs"

/** The position of a store. */
export interface StorePosition {
  /** The last entry of the ledger, and the chained hash up to it. */
  readonly entry: number
  readonly chain: string
  /** The number of changes to keys, tenants and credentials. */
  readonly changes: number
}

export interface WrittenMarker extends StorePosition {
  /** The highest one was written last. */
  readonly number: number
  readonly at: string
}

interface MarkerOptions {
  /** The path of the database. */
  readonly path: string
  /** The position that survives if the process is killed now. */
  readonly position: () => StorePosition
}

/** Two slots that are written alternately: if a write fails, the other one is readable. */
const SLOT_BYTES = 512
const SLOTS = 2
/** The interval while there are writes. */
const WRITE_EVERY_MS = 1000

export function markerPath(path: string): string {
  return `${path}-marker`
}

/** Undefined if there is no file. */
export function readMarker(path: string): WrittenMarker | "unreadable" | undefined {
  let text: string
  try {
    text = readFileSync(markerPath(path), "utf8")
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw thrown
  }
  const found = Array.from({ length: SLOTS }, (_, slot) =>
    parseSlot(text.slice(slot * SLOT_BYTES, (slot + 1) * SLOT_BYTES)),
  )
  const sound = found.filter((each) => each !== undefined)
  return sound.sort((a, b) => b.number - a.number)[0] ?? "unreadable"
}

function parseSlot(text: string): WrittenMarker | undefined {
  try {
    const { number, entry, chain, changes, at } = JSON.parse(text) as WrittenMarker
    const isSound = [number, entry, changes].every(Number.isSafeInteger) && /^[0-9a-f]{16}$/.test(chain)
    return isSound ? { number, entry, chain, changes, at } : undefined
  } catch {
    return undefined
  }
}

/**
 * Maintains the marker of an open store. Its position is always durable already: the marker never runs ahead of the
 * database.
 */
export class StoreMarker {
  private readonly file: number
  private log: number | undefined
  private number: number
  private timer: ReturnType<typeof setTimeout> | undefined
  private running: Promise<void> | undefined
  private waiting: Promise<void> | undefined
  private isClosed = false

  constructor(private readonly options: MarkerOptions) {
    const known = readMarker(options.path)
    this.number = known === undefined || known === "unreadable" ? 0 : known.number
    this.file = openSync(markerPath(options.path), known === undefined ? "w+" : "r+")
  }

  /** Called after a write. */
  note(): void {
    if (this.timer || this.isClosed) return
    this.timer = setTimeout(() => void this.writeLater(), WRITE_EVERY_MS)
    this.timer.unref()
  }

  /** Resolves when everything written before is on disk. Callers that arrive meanwhile share the next sync. */
  sync(): Promise<void> {
    if (!this.running) return this.run()
    this.waiting ??= this.running.then(
      () => this.run(),
      () => this.run(),
    )
    return this.waiting
  }

  /** Writes the marker at once, for a store that has none yet, or a wrong one. */
  begin(): void {
    const position = this.options.position()
    const isNew = position.entry === 0 && position.changes === 0
    if (!isNew) fsyncSync(this.openLog())
    this.write(position)
  }

  /** Writes a position that is known to be durable. */
  private write(position: StorePosition): void {
    this.number += 1
    const slot: WrittenMarker = { number: this.number, ...position, at: new Date().toISOString() }
    const text = `${JSON.stringify(slot).padEnd(SLOT_BYTES - 1)}\n`
    writeSync(this.file, text, (this.number % SLOTS) * SLOT_BYTES)
  }

  /** Called when the database has been closed, with its position if known. */
  close(position: StorePosition | undefined): void {
    if (this.isClosed) return
    this.isClosed = true
    clearTimeout(this.timer)
    try {
      if (position) this.write(position)
    } catch {
      // A marker that is behind is never wrong.
    }
    closeSync(this.file)
    const { log } = this
    if (log === undefined) return
    const closeLog = () => closeSync(log)
    if (this.running) this.running.then(closeLog, closeLog)
    else closeLog()
  }

  private async writeLater(): Promise<void> {
    // Later writes schedule another one.
    this.timer = undefined
    try {
      const position = this.options.position()
      await this.sync()
      if (!this.isClosed) this.write(position)
    } catch {
      // As above; the next write schedules another one.
    }
  }

  private run(): Promise<void> {
    this.waiting = undefined
    const running = this.syncLog().finally(() => {
      if (this.running === running) this.running = undefined
    })
    this.running = running
    return running
  }

  private openLog(): number {
    this.log ??= openSync(`${this.options.path}-wal`, "r+")
    return this.log
  }

  /** Pages that have left the write-ahead log were synced with the database. */
  private syncLog(): Promise<void> {
    return new Promise((resolve, reject) => {
      fsync(this.openLog(), (error) => (error ? reject(error) : resolve()))
    })
  }
}
