// A provider that decodes JSON as Go's standard library does, without regard to case, and takes snake and camel case
// alike: of two spellings of one member it obeys the last. It also obeys every list of models it is given.
import { type ReceivedRequest, ScriptedUpstream, type UpstreamScript } from "../stage/upstream.ts"
import { answersAll } from "./model-routes.ts"

/** The effect of one request on the host. */
export interface ObeyedMembers {
  readonly model: string
  readonly limit: number
  /** Members that name files, containers or caches of the account. */
  readonly objects: readonly string[]
}

const LIMITS = new Set(["maxtokens", "maxcompletiontokens", "maxoutputtokens", "maxnewtokens", "numpredict"])
const OBJECTS = new Set(["fileid", "fileids", "containerid", "vectorstoreids", "cachedcontent"])
/** Account data, in which names mean nothing to a provider. */
const DATA = new Set(["parameters", "metadata", "arguments", "args", "inputschema", "schema"])

export class CaseInsensitiveHost {
  readonly obeyed: ObeyedMembers[] = []

  private constructor(private readonly upstream: ScriptedUpstream) {}

  static async start(): Promise<CaseInsensitiveHost> {
    const upstream = await ScriptedUpstream.start()
    const host = new CaseInsensitiveHost(upstream)
    upstream.script = host.script
    return host
  }

  get origin(): string {
    return this.upstream.origin
  }

  stop(): Promise<void> {
    return this.upstream.stop()
  }

  private readonly script: UpstreamScript = (request, reply) => {
    this.obeyed.push(obey(request))
    return answersAll(request, reply)
  }
}

function obey({ path, body }: ReceivedRequest): ObeyedMembers {
  const [, inPath = ""] = /models\/([^:]+):/.exec(path) ?? []
  const found = { model: decodeURIComponent(inPath), limit: 0, objects: [] as string[], isGemini: inPath !== "" }
  look(JSON.parse(body.toString()), { found, depth: 0, isConfig: false })
  return found
}

interface MemberSearch {
  readonly found: { model: string; limit: number; readonly objects: string[]; readonly isGemini: boolean }
  readonly depth: number
  /** Whether it is the settings object of the content-generation protocol. */
  readonly isConfig: boolean
}

function look(value: unknown, { found, depth, isConfig }: MemberSearch): void {
  if (Array.isArray(value)) for (const item of value) look(item, { found, depth: depth + 1, isConfig: false })
  if (typeof value !== "object" || value === null || Array.isArray(value)) return
  for (const [name, member] of Object.entries(value)) {
    const folded = name.toLowerCase().replaceAll("\u017f", "s").replaceAll("_", "")
    if (folded === "model" && typeof member === "string") found.model = member
    if (folded === "models" && Array.isArray(member) && typeof member[0] === "string") found.model = member[0]
    const isLimit = LIMITS.has(folded) && typeof member === "number"
    if (isLimit && (depth === 0 || isConfig)) found.limit = member
    if (OBJECTS.has(folded) && member !== null) found.objects.push(name)
    if (!DATA.has(folded))
      look(member, { found, depth: depth + 1, isConfig: folded === "generationconfig" && found.isGemini })
  }
}
