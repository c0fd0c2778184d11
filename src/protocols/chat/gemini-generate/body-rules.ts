// Rules for generateContent bodies: refused members, and members with only two spellings.
import type { Json } from "../../../canonical/json.ts"
import { guardBody, type ObjectRules, type ValueRefusal } from "../../body-rules.ts"
import {
  ACCOUNT_OBJECTS,
  accountObject,
  foreignLimits,
  modelChoice,
  refusedAtTop,
  toolModel,
} from "../../gateway-extension.ts"

/** Files at addresses that anybody may fetch are fine; the vendor's own files, and buckets, are the account's. */
const heldFile: ValueRefusal = (uri, holder) => (isPublic(uri) ? undefined : accountObject(uri, holder))

function isPublic(uri: Json): boolean {
  if (typeof uri !== "string" || !URL.canParse(uri)) return false
  const { protocol, hostname } = new URL(uri)
  return /^https?:$/.test(protocol) && !/generativelanguage\.googleapis\.com\.?$/.test(hostname)
}

const request: ObjectRules = {
  members: [
    ...["contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "labels"],
    ...["model", "models", "fallbacks", "provider", "serviceTier", "generateContentRequest"],
  ],
  refused: refusedAtTop(["generationConfig.maxOutputTokens"]),
  inside: {
    generationConfig: {
      members: [
        ...["maxOutputTokens", "candidateCount", "temperature", "topP", "topK", "stopSequences", "thinkingConfig"],
        ...["responseModalities", "responseMimeType", "responseSchema", "responseJsonSchema", "speechConfig"],
        ...["imageConfig", "mediaResolution"],
      ],
      refused: {
        ...foreignLimits(["maxOutputTokens"]),
        routingConfig: modelChoice,
        modelConfig: modelChoice,
        modelSelectionConfig: modelChoice,
      },
      inside: { thinkingConfig: { members: ["thinkingBudget", "thinkingLevel", "includeThoughts"] } },
    },
    tools: {
      members: ["functionDeclarations", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext"],
      refused: { fileSearch: accountObject, retrieval: accountObject, model: toolModel },
    },
    contents: {
      members: ["role", "parts"],
      inside: { parts: { members: ["text", "inlineData", "fileData", "functionCall", "functionResponse"] } },
    },
    systemInstruction: { members: ["parts"] },
  },
}

export const bodyGuard = guardBody({
  ...request,
  // A count has no output, so output limits do not matter.
  inside: { ...request.inside, generateContentRequest: { ...request, refused: refusedAtTop([]) } },
  takesBothCases: true,
  refusedAnywhere: { ...ACCOUNT_OBJECTS, modelArmorConfig: accountObject, fileUri: heldFile },
  opaque: [
    ...["parameters", "parametersJsonSchema", "parameters_json_schema", "responseSchema", "response_schema"],
    ...["responseJsonSchema", "response_json_schema", "response", "args", "labels"],
  ],
})

const embedSettings = ["taskType", "title", "outputDimensionality"]
const embedRequest: ObjectRules = {
  members: ["content", "model", "provider", "models", "fallbacks", "requests", "embedContentConfig", ...embedSettings],
  refused: refusedAtTop([]),
  inside: {
    content: { members: ["parts", "role"] },
    embedContentConfig: { members: embedSettings },
  },
}

export const embedBodyGuard = guardBody({
  ...embedRequest,
  inside: { ...embedRequest.inside, requests: embedRequest },
  takesBothCases: true,
  refusedAnywhere: { fileUri: heldFile },
  opaque: [],
})
