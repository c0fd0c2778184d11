// The bodies of OpenAI's interfaces, as far as they are checked.
import type { JsonObject } from "../../canonical/json.ts"
import { fallbackLists, withModelName } from "./routing-schema.ts"
import {
  about,
  anyObject,
  anything,
  filledText,
  flag,
  integerFrom,
  listOf,
  numberWithin,
  objectOf,
  oneOf,
  reference,
  text,
  textOrTexts,
  texts,
  textsOrTokens,
} from "./schema-builders.ts"

const model = about("`<provider>/<model-name>` as listed by `GET /v1/models`, or an alias.", filledText)
const routed = { ...fallbackLists, provider: reference("Routing") }
const identifier = about("The gateway salts it per tenant before it sends it to the provider.", anything)
const identifiers = { user: identifier, safety_identifier: identifier, prompt_cache_key: identifier }
const serviceTier = about("Other values have no price in this gateway.", oneOf(["auto", "default"]))
const stream = about("Stream the response as server-sent events.", flag)
const sampling = {
  temperature: numberWithin(0, 2),
  top_p: numberWithin(0, 1),
  frequency_penalty: numberWithin(-2, 2),
  presence_penalty: numberWithin(-2, 2),
  stop: textOrTexts,
  n: integerFrom(1),
}
const streaming = {
  stream,
  stream_options: objectOf({ optional: { include_usage: flag } }),
}

/** An object that holds this member and no other. */
const only = (name: string, held: JsonObject): JsonObject => ({
  ...objectOf({ required: { [name]: held } }),
  additionalProperties: false,
})

const imageUrl: JsonObject = { anyOf: [objectOf({ required: { url: text } }), text] }
const part: JsonObject = {
  anyOf: [
    objectOf({ required: { type: oneOf(["text"]), text } }),
    objectOf({ required: { type: oneOf(["image_url"]), image_url: imageUrl } }),
    objectOf({ required: { type: { type: "string", not: { enum: ["text", "image_url"] } } } }),
  ],
}
const content: JsonObject = { anyOf: [text, listOf(part)] }
const calls = listOf(
  objectOf({ optional: { id: text, function: objectOf({ required: { name: text }, optional: { arguments: text } }) } }),
)
const message: JsonObject = {
  anyOf: [
    objectOf({ required: { role: oneOf(["system", "developer", "user"]), content } }),
    objectOf({ required: { role: oneOf(["assistant"]) }, optional: { content, tool_calls: calls } }),
    objectOf({ required: { role: oneOf(["tool"]), content, tool_call_id: text } }),
  ],
}
const declared = objectOf({
  required: { name: filledText },
  optional: { description: text, parameters: anyObject },
})
const chatTool: JsonObject = {
  anyOf: [
    objectOf({
      required: { function: declared },
      optional: { type: oneOf(["function"]) },
    }),
    objectOf({ required: { type: { type: "string", not: { enum: ["function"] } } } }),
  ],
}
const toolChoice: JsonObject = { anyOf: [text, objectOf({ optional: { type: text } })] }

const plainFormat = objectOf({ required: { type: oneOf(["text", "json_object"]) } })
const responseFormat: JsonObject = {
  anyOf: [
    plainFormat,
    objectOf({
      required: {
        type: oneOf(["json_schema"]),
        json_schema: objectOf({ required: { name: text }, optional: { schema: anyObject } }),
      },
    }),
  ],
}

export const chatBody = withModelName(
  objectOf({
    required: { model, messages: listOf(message, { minItems: 1 }) },
    optional: {
      ...sampling,
      max_tokens: integerFrom(1),
      max_completion_tokens: integerFrom(1),
      ...streaming,
      tools: listOf(chatTool),
      tool_choice: toolChoice,
      response_format: responseFormat,
      best_of: integerFrom(1),
      service_tier: serviceTier,
      store: about("Accepted, but never sent to the provider, because callers share the provider's account.", flag),
      web_search_options: anything,
      modalities: anything,
      search_parameters: anything,
      functions: about("The older form of `tools`; with it, results are messages with the role `function`.", anything),
      reasoning_effort: anything,
      reasoning: about("OpenRouter's form of the reasoning effort.", anything),
      thinking: about("LiteLLM's form of the reasoning effort.", anything),
      extra_body: about("Google's form of the reasoning effort.", only("google", only("thinking_config", anyObject))),
      ...identifiers,
      ...routed,
    },
  }),
)

export const completionsBody = withModelName(
  objectOf({
    required: { model, prompt: textsOrTokens(text) },
    optional: {
      ...sampling,
      max_tokens: integerFrom(0),
      best_of: integerFrom(1),
      suffix: text,
      echo: flag,
      logprobs: integerFrom(0),
      ...identifiers,
      user: text,
      ...streaming,
      ...routed,
    },
  }),
)

export const moderationsBody = objectOf({
  required: {
    input: {
      anyOf: [
        text,
        { ...listOf(text), minItems: 1 },
        {
          ...listOf({
            anyOf: [
              objectOf({ required: { type: oneOf(["text"]), text } }),
              objectOf({ required: { type: oneOf(["image_url"]), image_url: objectOf({ required: { url: text } }) } }),
            ],
          }),
          minItems: 1,
        },
      ],
    },
  },
  optional: { model, ...routed },
})

const otherThan = (...words: readonly string[]): JsonObject => ({ ...filledText, not: { enum: words } })
const itemPart: JsonObject = {
  anyOf: [
    objectOf({ required: { type: oneOf(["input_text", "output_text"]), text } }),
    objectOf({ required: { type: otherThan("input_text", "output_text") } }),
  ],
}
const item: JsonObject = {
  anyOf: [
    objectOf({
      required: {
        role: oneOf(["user", "assistant", "system", "developer"]),
        content: { anyOf: [text, listOf(itemPart)] },
      },
      optional: { type: oneOf(["message"]) },
    }),
    objectOf({ required: { type: oneOf(["function_call"]), call_id: filledText, name: filledText, arguments: text } }),
    objectOf({ required: { type: oneOf(["function_call_output"]), call_id: filledText } }),
    objectOf({ required: { type: oneOf(["item_reference"]), id: filledText } }),
    objectOf({
      required: {
        type: { type: "string", not: { enum: ["message", "function_call", "function_call_output", "item_reference"] } },
      },
    }),
  ],
}
const responsesFormat: JsonObject = {
  anyOf: [plainFormat, objectOf({ required: { type: oneOf(["json_schema"]), name: filledText, schema: anyObject } })],
}
const responsesTool: JsonObject = {
  anyOf: [
    objectOf({ required: { type: oneOf(["function"]), name: filledText }, optional: { parameters: anyObject } }),
    objectOf({ required: { type: otherThan("function") } }),
  ],
}

export const responsesBody = withModelName(
  objectOf({
    required: { model, input: { anyOf: [text, listOf(item)] } },
    optional: {
      instructions: text,
      previous_response_id: about("The id of a response that the gateway stores for this tenant.", {
        ...filledText,
        maxLength: 128,
      }),
      store: about("Store the response in the gateway (default: true).", flag),
      include: texts,
      temperature: numberWithin(0, 2),
      top_p: numberWithin(0, 1),
      max_output_tokens: integerFrom(1),
      max_tool_calls: integerFrom(1),
      parallel_tool_calls: flag,
      reasoning: objectOf({ optional: { effort: text } }),
      text: objectOf({ optional: { format: responsesFormat } }),
      tools: listOf(responsesTool),
      tool_choice: { anyOf: [text, anyObject] },
      stream,
      background: about("Background responses are not supported.", { type: "boolean", enum: [false] }),
      service_tier: serviceTier,
      ...identifiers,
      ...routed,
    },
  }),
)

export const embeddingsBody = withModelName(
  objectOf({
    required: { model, input: textsOrTokens(filledText) },
    optional: { dimensions: integerFrom(1), encoding_format: oneOf(["float", "base64"]), user: text, ...routed },
  }),
)

export const imagesBody = objectOf({
  required: { prompt: filledText },
  optional: {
    model: about("Default: the image model that the operator configured.", model),
    n: integerFrom(1),
    size: text,
    quality: text,
    response_format: oneOf(["url", "b64_json"]),
    output_format: text,
    output_compression: numberWithin(0, 100),
    background: text,
    user: text,
    stream: about("Images are not streamed.", { type: "boolean", enum: [false] }),
    ...routed,
  },
})
