// A provider whose every answer is malformed in some way. The case's seed decides which.
import type { UpstreamReply, UpstreamScript } from "../stage/upstream.ts"
import { soundAnswer } from "./model-routes.ts"
import { mutateBytes, mutateJson, mutateStream, pieces } from "./mutations.ts"
import { SeededRandom } from "./seeded-random.ts"

const TYPES = [
  "application/json",
  "text/event-stream",
  "text/html",
  "",
  "application/json; charset=utf-16",
  "\xff",
  "x",
]
const STATUSES = [100, 101, 199, 201, 202, 204, 206, 301, 304, 400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 429]
const FAULTS = [500, 501, 502, 503, 504, 520, 529, 599, 600, 999]
const HEADERS: readonly Record<string, string>[] = [
  {},
  { "retry-after": "-1" },
  { "retry-after": "1e999" },
  { "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" },
  { "retry-after": "\xff" },
  { "retry-after-ms": "NaN" },
  { "content-encoding": "gzip" },
  { "content-encoding": "br" },
  { "x-request-id": "x".repeat(5000) },
  { "set-cookie": "a=b" },
]
/** A provider that does not end its answer itself is gone by then. */
const GONE_MS = 150

interface UnsoundAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Buffer
  readonly isStream: boolean
}

function unsoundAnswer(path: string, request: string, random: SeededRandom): UnsoundAnswer {
  const sound = soundAnswer(path, request)
  const isStream = Array.isArray(sound)
  const failing = random.chance(0.15)
  const status = failing ? random.pick([...STATUSES, ...FAULTS]) : 200
  const odd = random.chance(0.15) ? { "content-type": random.pick(TYPES) } : {}
  const headers = { ...odd, ...(random.chance(0.15) ? random.pick(HEADERS) : {}) }
  if (failing) return { status, headers, body: unsoundError(random), isStream: random.chance(0.2) }
  const body = isStream ? mutateStream(sound as string[], random) : mutateJson(sound, random)
  return { status, headers, body, isStream: random.chance(0.05) ? !isStream : isStream }
}

const ERROR = {
  error: { message: "no", type: "invalid_request_error", code: "x", status: "INVALID_ARGUMENT", details: [] },
}

function unsoundError(random: SeededRandom): Buffer {
  const body = mutateJson(random.chance(0.2) ? [ERROR] : ERROR, random)
  return random.chance(0.3) ? mutateBytes(body, random) : body
}

/** Apart from the case's own random numbers, which the request has used. */
const OTHER_DICE = 0x5bd1e995

export class MalformedAnswerHost {
  private readonly sentAnswers = new Map<number, Buffer>()

  constructor(private readonly seed: number) {}

  /** The answer in this case, if it is still remembered. */
  answerTo(number: number): Buffer | undefined {
    return this.sentAnswers.get(number)
  }

  forget(): void {
    this.sentAnswers.clear()
  }

  /** The request names its case: `case 17`. */
  readonly script: UpstreamScript = async ({ path, body }, reply) => {
    const request = body.toString()
    const number = Number(/case (\d+)/.exec(request)?.[1])
    const random = new SeededRandom({ seed: this.seed ^ OTHER_DICE, number })
    const answer = unsoundAnswer(path, request, random)
    this.sentAnswers.set(number, answer.body)
    if (answer.isStream) await stream(reply, answer, random)
    else whole(reply, answer, random)
    await Bun.sleep(GONE_MS)
    reply.cut(random.chance(0.5) ? "fin" : "reset")
  }
}

async function stream(reply: UpstreamReply, { headers, body }: UnsoundAnswer, random: SeededRandom): Promise<void> {
  reply.stream(headers)
  for (const piece of pieces(body, random)) {
    await reply.write(piece)
    if (random.chance(0.05)) await Bun.sleep(1)
  }
  if (random.chance(0.7)) reply.end()
}

function whole(reply: UpstreamReply, { status, headers, body }: UnsoundAnswer, random: SeededRandom): void {
  const wrong = random.chance(0.1)
  const length = String(Math.max(0, body.length + random.pick([-5, -1, 1, 100, 1e9])))
  reply.raw(body, { ...headers, ...(wrong && { "content-length": length }) }, status)
}
