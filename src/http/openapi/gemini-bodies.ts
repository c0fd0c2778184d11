// The bodies of Google's content generation, as far as they are checked. Every member is also taken in snake case.
import type { JsonObject } from "../../canonical/json.ts"
import { generateMembers } from "../../protocols/body-schemas.ts"
import { fallbackLists } from "./routing-schema.ts"
import {
  about,
  filledText,
  integerFrom,
  listOf,
  objectOf,
  oneOf,
  reference,
  schemasOf,
  text,
  texts,
} from "./schema-builders.ts"

const part = objectOf({
  optional: {
    text,
    inlineData: objectOf({ required: { mimeType: filledText, data: text } }),
    fileData: objectOf({ required: { fileUri: filledText } }),
    functionCall: objectOf({}),
    functionResponse: objectOf({}),
  },
})
const content = objectOf({
  required: { parts: listOf(part) },
  optional: { role: oneOf(["user", "model", "function", ""]) },
})
const generationConfig = objectOf({
  optional: {
    ...schemasOf(generateMembers),
    stopSequences: texts,
  },
})
const declaration = objectOf({ required: { name: filledText }, optional: { description: text } })

const contents = listOf(content, { minItems: 1 })
const settings = {
  systemInstruction: objectOf({ optional: { parts: { anyOf: [part, listOf(part)] } } }),
  tools: listOf(objectOf({ optional: { functionDeclarations: listOf(declaration) } })),
  generationConfig,
}
const more = {
  serviceTier: about(
    "Other values have no price in this gateway.",
    oneOf(["standard", "SERVICE_TIER_STANDARD", "unspecified", "SERVICE_TIER_UNSPECIFIED"]),
  ),
  ...fallbackLists,
  provider: reference("Routing"),
}
const routed = { ...fallbackLists, provider: more.provider }

export const generateBody = objectOf({ required: { contents }, optional: { ...settings, ...more } })

export const generateCountBody: JsonObject = {
  anyOf: [
    generateBody,
    objectOf({
      required: { generateContentRequest: objectOf({ required: { contents }, optional: settings }) },
      optional: more,
    }),
  ],
}

const embeddingSettings = { taskType: text, title: text, outputDimensionality: integerFrom(1) }
const embedded = {
  required: { content: objectOf({ required: { parts: listOf(part, { minItems: 1 }) } }) },
  optional: { ...embeddingSettings, embedContentConfig: objectOf({ optional: embeddingSettings }) },
}

/** Of `:embedContent`, or of `:batchEmbedContents`. */
export const embedBody: JsonObject = {
  anyOf: [
    objectOf({ ...embedded, optional: { ...embedded.optional, ...routed } }),
    objectOf({
      required: { requests: listOf(objectOf(embedded), { minItems: 1 }) },
      optional: routed,
    }),
  ],
}
