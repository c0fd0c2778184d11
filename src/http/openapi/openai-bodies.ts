// The bodies of OpenAI's interfaces, as far as they are checked.
import type { JsonObject } from "../../canonical/json.ts"
import {
  chatMembers,
  completionsMembers,
  embeddingsMembers,
  imagesMembers,
  responsesMembers,
  samplingMembers,
} from "../../protocols/body-schemas.ts"
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
const { n, ...sampled } = schemasOf(samplingMembers)
const sampling = { ...sampled, stop: textOrTexts, n }
const chat = schemasOf(chatMembers)
const completions = schemasOf(completionsMembers)
const responses = schemasOf(responsesMembers)
const images = schemasOf(imagesMembers)
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
      max_tokens: chat.max_tokens,
      max_completion_tokens: chat.max_completion_tokens,
      ...streaming,
      tools: listOf(chatTool),
      tool_choice: toolChoice,
      response_format: responseFormat,
      best_of: chat.best_of,
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
      max_tokens: completions.max_tokens,
      best_of: completions.best_of,
      suffix: text,
      echo: flag,
      logprobs: completions.logprobs,
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
      ...responses,
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
    optional: { ...schemasOf(embeddingsMembers), user: text, ...routed },
  }),
)

export const imagesBody = objectOf({
  required: { prompt: filledText },
  optional: {
    model: about("Default: the image model that the operator configured.", model),
    n: images.n,
    size: text,
    quality: text,
    response_format: images.response_format,
    output_format: text,
    output_compression: images.output_compression,
    background: text,
    user: text,
    stream: about("Images are not streamed.", { type: "boolean", enum: [false] }),
    ...routed,
  },
})
