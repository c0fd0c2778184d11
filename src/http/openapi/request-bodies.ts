// Schemas of the request members that the gateway validates, by protocol. A test compares each schema with the protocol's
// own validation.
import type { JsonObject } from "../../canonical/json.ts"
import type { ProtocolId } from "../../protocols/contract.ts"
import { messagesBody, messagesCountBody } from "./anthropic-bodies.ts"
import { embedBody, generateBody, generateCountBody } from "./gemini-bodies.ts"
import {
  chatBody,
  completionsBody,
  embeddingsBody,
  imagesBody,
  moderationsBody,
  responsesBody,
} from "./openai-bodies.ts"

interface DescribedBody {
  /** Its name among the description's schemas. */
  readonly name: string
  /** The vendor's page, for all that is the vendor's. */
  readonly page: string
  readonly schema: JsonObject
  /** Of what is only counted, where that is checked otherwise. */
  readonly counted?: JsonObject
  /** Members that are refused whatever they hold. */
  readonly refused: readonly string[]
}

/** The operator decides where a model is served, and `model` alone decides which model is called. */
const DESTINATIONS = [
  ...["api_base", "api_key", "base_url", "custom_host"],
  ...["route", "preset", "plugins", "compound_custom", "provider_options"],
]
const OPENAI = "https://platform.openai.com/docs/api-reference"
const GOOGLE = "https://ai.google.dev/api"

/** A new protocol does not compile until it is described. */
export const BODIES: Readonly<Record<ProtocolId, DescribedBody>> = {
  "openai-chat": { name: "ChatRequest", page: `${OPENAI}/chat/create`, schema: chatBody, refused: DESTINATIONS },
  "openai-responses": {
    name: "ResponsesRequest",
    page: `${OPENAI}/responses/create`,
    schema: responsesBody,
    refused: [...DESTINATIONS, "conversation", "prompt"],
  },
  "openai-completions": {
    name: "CompletionsRequest",
    page: `${OPENAI}/completions/create`,
    schema: completionsBody,
    refused: DESTINATIONS,
  },
  "openai-embeddings": {
    name: "EmbeddingsRequest",
    page: `${OPENAI}/embeddings/create`,
    schema: embeddingsBody,
    refused: DESTINATIONS,
  },
  "openai-images": {
    name: "ImagesRequest",
    page: `${OPENAI}/images/create`,
    schema: imagesBody,
    refused: DESTINATIONS,
  },
  "openai-moderations": {
    name: "ModerationsRequest",
    page: `${OPENAI}/moderations/create`,
    schema: moderationsBody,
    refused: DESTINATIONS,
  },
  "anthropic-messages": {
    name: "MessagesRequest",
    page: "https://docs.anthropic.com/en/api/messages",
    schema: messagesBody,
    counted: messagesCountBody,
    refused: [...DESTINATIONS, "container"],
  },
  "gemini-generate": {
    name: "GenerateContentRequest",
    page: `${GOOGLE}/generate-content`,
    schema: generateBody,
    counted: generateCountBody,
    refused: [...DESTINATIONS, "cachedContent", "cached_content", "modelArmorConfig", "model_armor_config"],
  },
  "gemini-embed": {
    name: "EmbedContentRequest",
    page: `${GOOGLE}/embeddings`,
    schema: embedBody,
    refused: DESTINATIONS,
  },
}
