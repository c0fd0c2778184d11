// The rows that stand, by their number in the proof table.
import type { Row } from "./row.ts"
import { rawSockets } from "./row-11-raw-corpus.ts"
import { jsonBombs } from "./row-13-json-bombs.ts"
import { slowloris } from "./row-14-slowloris.ts"
import { privileges } from "./row-18-privileges.ts"
import { canaries } from "./row-19-canaries.ts"

export const rows: readonly Row[] = [rawSockets, jsonBombs, slowloris, privileges, canaries]
