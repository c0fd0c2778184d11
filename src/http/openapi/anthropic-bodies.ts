// The bodies of Anthropic's messages interface, as far as they are checked.
import type { JsonObject } from "../../canonical/json.ts"
import { messagesMembers } from "../../protocols/body-schemas.ts"
import { fallbackLists, withModelName } from "./routing-schema.ts"
import {
  about,
  anyObject,
  anything,
  filledText,
  flag,
  listOf,
  objectOf,
  oneOf,
  reference,
  schemasOf,
  text,
  texts,
} from "./schema-builders.ts"

const KNOWN_BLOCKS = ["text", "image", "document", "tool_use", "tool_result", "container_upload"]

const source: JsonObject = {
  anyOf: [
    objectOf({ required: { type: oneOf(["base64"]), media_type: filledText, data: text } }),
    objectOf({ required: { type: oneOf(["url"]), url: filledText } }),
    objectOf({ required: { type: { ...filledText, not: { enum: ["base64", "url", "file"] } } } }),
  ],
}

const block: JsonObject = {
  anyOf: [
    objectOf({ required: { type: oneOf(["text"]), text } }),
    objectOf({ required: { type: oneOf(["image", "document"]), source } }),
    objectOf({ required: { type: oneOf(["tool_use"]), id: filledText, name: filledText, input: anyObject } }),
    objectOf({
      required: { type: oneOf(["tool_result"]), tool_use_id: filledText },
      optional: { content: { anyOf: [text, listOf(objectOf({ required: { type: filledText } }))] }, is_error: flag },
    }),
    objectOf({ required: { type: { ...filledText, not: { enum: KNOWN_BLOCKS } } } }),
  ],
}
const content: JsonObject = { anyOf: [text, listOf(block)] }
const role = about("`system` is allowed only with `anthropic-version`.", oneOf(["user", "assistant", "system"]))

const tool: JsonObject = {
  anyOf: [
    objectOf({
      required: { name: filledText, input_schema: anyObject },
      optional: { type: oneOf(["custom"]), description: text },
    }),
    objectOf({ required: { type: { type: "string", not: { enum: ["custom"] } } } }),
  ],
}

const { max_tokens, ...sampling } = schemasOf(messagesMembers)
const required = {
  model: about("`<provider>/<model-name>` from the list of models, or an alias.", filledText),
  messages: listOf(objectOf({ required: { role, content } }), { minItems: 1 }),
}
const optional = {
  system: content,
  ...sampling,
  stop_sequences: texts,
  tools: listOf(tool),
  tool_choice: {
    anyOf: [
      objectOf({ required: { type: oneOf(["tool"]), name: filledText } }),
      objectOf({ required: { type: { ...filledText, not: { enum: ["tool"] } } } }),
    ],
  },
  service_tier: about("Other values have no price in this gateway.", oneOf(["auto", "standard_only"])),
  speed: about("Other values have no price in this gateway.", oneOf(["standard"])),
  inference_geo: about("Other values have no price in this gateway.", oneOf(["global"])),
  metadata: about("The gateway salts its `user_id` per tenant before it sends it to the provider.", anything),
  mcp_servers: anything,
  ...fallbackLists,
  provider: reference("Routing"),
}
const stream = about("Stream the response as server-sent events.", flag)

export const messagesBody = withModelName(
  objectOf({
    required: { ...required, max_tokens },
    optional: { ...optional, stream },
  }),
)

export const messagesCountBody = withModelName(objectOf({ required, optional }))
