// A file beside the database that says how far it has come. A database that is behind it, or another one, has lost what
// was booked, and no check of its own could find that.
import { closeSync, fsync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs"

/** What a store has been known to hold. */
export interface StorePosition {
  /** The last entry of the ledger, and the chained hash up to it. */
  readonly entry: number
  readonly chain: string
  /** How often keys, tenants and credentials were changed. */
  readonly changes: number
}

export interface WrittenMarker extends StorePosition {
  /** The highest was written last. */
  readonly number: number
  readonly at: string
}

interface MarkerOptions {
  /** Of the database. */
  readonly path: string
  /** What is durable should the process be killed now. */
  readonly position: () => StorePosition
}

/** Two places that are written in turn: whatever becomes of a write, the other one can be read. */
const SLOT_BYTES = 512
const SLOTS = 2
/** While anything is written, so often. */
const WRITE_EVERY_MS = 1000

export function markerPath(path: string): string {
  return `${path}-marker`
}

/** Undefined where there is no file. */
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

/** Keeps the marker of an open store. What it says is always on disk already: it never runs ahead of the database. */
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

  /** Something was written. */
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

  /** At once, for a store that has no marker yet, or a wrong one. */
  begin(): void {
    const position = this.options.position()
    const isNew = position.entry === 0 && position.changes === 0
    if (!isNew) fsyncSync(this.openLog())
    this.write(position)
  }

  /** Of what is known to be on disk. */
  private write(position: StorePosition): void {
    this.number += 1
    const slot: WrittenMarker = { number: this.number, ...position, at: new Date().toISOString() }
    const text = `${JSON.stringify(slot).padEnd(SLOT_BYTES - 1)}\n`
    writeSync(this.file, text, (this.number % SLOTS) * SLOT_BYTES)
  }

  /** When the database has been closed, at this position where it is known. */
  close(position: StorePosition | undefined): void {
    if (this.isClosed) return
    this.isClosed = true
    clearTimeout(this.timer)
    try {
      if (position) this.write(position)
    } catch {
      // One that is behind is never wrong.
    }
    closeSync(this.file)
    const { log } = this
    if (log === undefined) return
    const closeLog = () => closeSync(log)
    if (this.running) this.running.then(closeLog, closeLog)
    else closeLog()
  }

  private async writeLater(): Promise<void> {
    // What is written from now on asks for another one.
    this.timer = undefined
    try {
      const position = this.options.position()
      await this.sync()
      if (!this.isClosed) this.write(position)
    } catch {
      // As above; what is written next asks for another one.
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

  /** What is not in the write-ahead log any more was synced with the database when it went there. */
  private syncLog(): Promise<void> {
    return new Promise((resolve, reject) => {
      fsync(this.openLog(), (error) => (error ? reject(error) : resolve()))
    })
  }
}
