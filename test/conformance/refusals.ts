// The cells that are refused, and why. An unlisted refusal fails, and so does a listed cell that passes.
import { type CellName, type ClientProtocol, FEATURES, type MatrixFeature, type UpstreamProtocol } from "./axes.ts"

interface ExpectedRefusal {
  readonly feature: MatrixFeature
  /** Absent where it is so for every one. */
  readonly client?: ClientProtocol
  readonly upstream?: UpstreamProtocol
  readonly why: string
}

const REFUSALS: readonly ExpectedRefusal[] = [
  {
    feature: "cache marks",
    client: "gemini-generate",
    why: "The protocol has no marks; what it has, `cachedContent`, is an object of the upstream's account, which callers share.",
  },
  {
    feature: "stop sequence",
    upstream: "openai-responses",
    why: "Responses has no stop sequences, and an answer that runs on past one is another answer.",
  },
]

export function refusalOf({ client, upstream, feature }: CellName): ExpectedRefusal | undefined {
  return REFUSALS.find(
    (refusal) =>
      refusal.feature === feature &&
      (refusal.client ?? client) === client &&
      (refusal.upstream ?? upstream) === upstream &&
      // A feature that a client cannot express is not refused.
      !(feature === "stop sequence" && client === "openai-responses"),
  )
}

/** Listed refusals that are not allowed. */
export function unlawfulRefusals(): readonly string[] {
  return REFUSALS.filter(({ feature }) => !FEATURES[feature].mayBeRefused).map(({ feature }) => feature)
}
