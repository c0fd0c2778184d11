// The bundled models, one file per author, validated as a whole before the first use.
import type { CatalogModel } from "./catalog.ts"
import { readModelFile } from "./model-file.ts"
import ai21 from "./models/ai21.json" with { type: "json" }
import alibaba from "./models/alibaba.json" with { type: "json" }
import amazon from "./models/amazon.json" with { type: "json" }
import anthropic from "./models/anthropic.json" with { type: "json" }
import baai from "./models/baai.json" with { type: "json" }
import baidu from "./models/baidu.json" with { type: "json" }
import blackForestLabs from "./models/black-forest-labs.json" with { type: "json" }
import bytedance from "./models/bytedance.json" with { type: "json" }
import cohere from "./models/cohere.json" with { type: "json" }
import deepseek from "./models/deepseek.json" with { type: "json" }
import google from "./models/google.json" with { type: "json" }
import meta from "./models/meta.json" with { type: "json" }
import microsoft from "./models/microsoft.json" with { type: "json" }
import minimax from "./models/minimax.json" with { type: "json" }
import mistral from "./models/mistral.json" with { type: "json" }
import moonshot from "./models/moonshot.json" with { type: "json" }
import nomic from "./models/nomic.json" with { type: "json" }
import nous from "./models/nous.json" with { type: "json" }
import nvidia from "./models/nvidia.json" with { type: "json" }
import openai from "./models/openai.json" with { type: "json" }
import perplexity from "./models/perplexity.json" with { type: "json" }
import stability from "./models/stability.json" with { type: "json" }
import stepfun from "./models/stepfun.json" with { type: "json" }
import tencent from "./models/tencent.json" with { type: "json" }
import thinkingmachines from "./models/thinkingmachines.json" with { type: "json" }
import voyage from "./models/voyage.json" with { type: "json" }
import writer from "./models/writer.json" with { type: "json" }
import xai from "./models/xai.json" with { type: "json" }
import xiaomi from "./models/xiaomi.json" with { type: "json" }
import zai from "./models/zai.json" with { type: "json" }

const FILES: readonly unknown[] = [
  ai21,
  alibaba,
  amazon,
  anthropic,
  baai,
  baidu,
  blackForestLabs,
  bytedance,
  cohere,
  deepseek,
  google,
  meta,
  microsoft,
  minimax,
  mistral,
  moonshot,
  nomic,
  nous,
  nvidia,
  openai,
  perplexity,
  stability,
  stepfun,
  tencent,
  thinkingmachines,
  voyage,
  writer,
  xai,
  xiaomi,
  zai,
]

let models: readonly CatalogModel[] | undefined

/** Throws an error with the entry and the member if a file is invalid. */
export function bundledModels(): readonly CatalogModel[] {
  models ??= readModels(FILES)
  return models
}

export function readModels(files: readonly unknown[]): CatalogModel[] {
  const problems: string[] = []
  const found = files.flatMap((file) => readModelFile(file, problems))
  if (problems.length === 0) problems.push(...findSharedNames(found))
  if (problems.length > 0) throw new Error(`the catalogue is not valid:\n${problems.join("\n")}`)
  return found
}

/** Duplicate ids, and aliases that would not lead to the model that lists them. */
function findSharedNames(found: readonly CatalogModel[]): string[] {
  const problems: string[] = []
  const bearers = new Map<string, string>()
  for (const { id } of found) {
    if (bearers.has(id)) problems.push(`${id}: id: another entry has the same id`)
    bearers.set(id, id)
  }
  for (const { id, aliases } of found) {
    for (const alias of aliases) {
      const bearer = bearers.get(alias)
      if (bearer !== undefined) problems.push(`${id}: aliases: ${alias} is also a name of ${bearer}`)
      bearers.set(alias, id)
    }
  }
  return problems
}
