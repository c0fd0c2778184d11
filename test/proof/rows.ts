// The rows of the proof table, by number.
import type { ProofRow } from "./row.ts"
import { kills } from "./row-01-kill.ts"
import { overspending } from "./row-02-overspend.ts"
import { leavingClients } from "./row-03-leaving-clients.ts"
import { oddUsage } from "./row-04-odd-usage.ts"
import { outage } from "./row-05-outage.ts"
import { oneOfThree } from "./row-06-one-of-three.ts"
import { firstEventErrors } from "./row-07-first-event-errors.ts"
import { brokenStreams } from "./row-08-broken-streams.ts"
import { timeOuts } from "./row-09-time-outs.ts"
import { slowReaders } from "./row-10-slow-readers.ts"
import { rawSockets } from "./row-11-raw-corpus.ts"
import { fuzz } from "./row-12-fuzz.ts"
import { jsonBombs } from "./row-13-json-bombs.ts"
import { slowloris } from "./row-14-slowloris.ts"
import { destinations } from "./row-15-destinations.ts"
import { overload } from "./row-16-overload.ts"
import { stopping } from "./row-17-stopping.ts"
import { privileges } from "./row-18-privileges.ts"
import { canaries } from "./row-19-canaries.ts"
import { storeLoss } from "./row-20-store-loss.ts"
import { soak } from "./row-21-soak.ts"
import { otherModels } from "./row-22-other-model.ts"
import { limits } from "./row-23-limits.ts"
import { suspense } from "./row-24-suspense.ts"
import { oneCall } from "./row-25-one-call.ts"
import { bodyHogs } from "./row-26-body-hogs.ts"
import { reloads } from "./row-27-reloads.ts"
import { whoseAnswer } from "./row-28-whose-answer.ts"
import { meaninglessBytes } from "./row-29-meaningless-bytes.ts"
import { lostFiles } from "./row-30-lost-files.ts"
import { start } from "./row-31-start.ts"
import { crashes } from "./row-32-crashes.ts"

export const rows: readonly ProofRow[] = [
  kills,
  overspending,
  leavingClients,
  oddUsage,
  outage,
  oneOfThree,
  firstEventErrors,
  brokenStreams,
  timeOuts,
  slowReaders,
  rawSockets,
  fuzz,
  jsonBombs,
  slowloris,
  destinations,
  overload,
  stopping,
  privileges,
  canaries,
  storeLoss,
  soak,
  otherModels,
  limits,
  suspense,
  oneCall,
  bodyHogs,
  reloads,
  whoseAnswer,
  meaninglessBytes,
  lostFiles,
  start,
  crashes,
]
