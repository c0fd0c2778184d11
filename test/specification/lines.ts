// Every requirement of the specification's tables and lists: its section, its text, and the file of this folder that
// tests it. docs/specification.md is generated from it; the titles of a requirement's tests begin with its id.

interface SpecificationTable {
  /** The specification's own headings. */
  readonly section: string
  /** The file that tests it, without `.test.ts`. */
  readonly suite: string
  readonly lines: Readonly<Record<string, string>>
}

export const TABLES = [
  {
    section: "Stand-ins",
    suite: "addresses",
    lines: {
      "stand-in.msgapi": "`/msgapi` is the prefix of the messages-style protocol; `/anthropic` is an alias",
      "stand-in.genapi": "`/genapi` is the prefix of the content-generation protocol; `/gemini` is an alias",
      "stand-in.x-gen-api-key": "`x-gen-api-key` carries the key there; so do `x-goog-api-key` and the query's `key`",
      "stand-in.msg-version": "`msg-version` states the messages-style version; so does `anthropic-version`",
    },
  },
  {
    section: "What the service does",
    suite: "addresses",
    lines: {
      "service.models": "one key reaches more than 100 models of several providers",
      "service.completions-style": "completions-style clients are pointed at `/v1`",
      "service.messages-style": "messages-style clients are pointed at `/msgapi`",
      "service.content-generation": "content-generation clients are pointed at `/genapi/v1beta`",
      "service.model-name": "a model is `<provider>/<model-name>` in every protocol",
      "service.routing": "routing and fallback are an addition that a request may leave out",
    },
  },
  {
    section: "Resources and their fields: Completions-style chat request",
    suite: "chat-request",
    lines: {
      "chat-request.model": "string, required: `<provider>/<model-name>`",
      "chat-request.messages": "array, required: roles system, user, assistant, tool",
      "chat-request.temperature": "number from 0 to 2; 1 if omitted",
      "chat-request.max_tokens": "integer: at most so many tokens are generated",
      "chat-request.top_p": "number for nucleus sampling; 1 if omitted",
      "chat-request.frequency_penalty": "number from -2 to 2",
      "chat-request.presence_penalty": "number from -2 to 2",
      "chat-request.stream": "boolean; false if omitted",
      "chat-request.tools": "array of tools for function calling",
      "chat-request.response_format": "object: text, json_object or json_schema",
      "chat-request.stop": "string or array of stop sequences",
    },
  },
  {
    section: "Resources and their fields: Message roles",
    suite: "chat-request",
    lines: {
      "chat-role.system": "instructions for the model",
      "chat-role.user": "a message of the user",
      "chat-role.assistant": "an answer of the model",
      "chat-role.tool": "the result of a tool call",
    },
  },
  {
    section: "Resources and their fields: Completions-style chat response",
    suite: "chat-response",
    lines: {
      "chat-response.id": "string that names the completion",
      "chat-response.object": "always `chat.completion`",
      "chat-response.created": "integer: seconds of Unix time",
      "chat-response.model": "string: `<provider>/<model-name>`",
      "chat-response.choices": "array of index, message (role, content) and finish_reason",
      "chat-response.usage": "integers prompt_tokens, completion_tokens, total_tokens",
    },
  },
  {
    section: "Resources and their fields: Messages-style request",
    suite: "messages-request",
    lines: {
      "messages-request.model": "string, required",
      "messages-request.max_tokens": "integer, required: at most so many tokens are generated",
      "messages-request.messages": "array, required: roles user, assistant",
      "messages-request.system": "string or array: the system prompt, apart from the messages",
      "messages-request.temperature": "number from 0 to 1; 1 if omitted",
      "messages-request.top_p": "number; 1 if omitted",
      "messages-request.top_k": "integer for top-K sampling",
      "messages-request.stream": "boolean: the answer comes in pieces",
      "messages-request.tools": "array of tools in this protocol's form",
      "messages-request.stop_sequences": "array of the caller's own stop sequences",
    },
  },
  {
    section: "Resources and their fields: Messages-style response",
    suite: "messages-response",
    lines: {
      "messages-response.id": "string that names the message",
      "messages-response.type": "always `message`",
      "messages-response.role": "always `assistant`",
      "messages-response.content": "array of blocks with a type; a text block has its text",
      "messages-response.model": "string: the model's name",
      "messages-response.stop_reason": "string such as `end_turn`",
      "messages-response.stop_sequence": "the sequence that stopped the answer; null where none did",
      "messages-response.usage":
        "integers input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens",
    },
  },
  {
    section: "Resources and their fields: Content-generation request",
    suite: "generate-request",
    lines: {
      "generate-request.contents": "array, required: the conversation, each item with its parts",
      "generate-request.contents[].parts": "array, required: text or inline_data",
      "generate-request.systemInstruction": "object",
      "generate-request.generationConfig.temperature": "number from 0 to 2",
      "generate-request.generationConfig.maxOutputTokens": "integer: at most so many tokens are generated",
      "generate-request.generationConfig.topP": "number for nucleus sampling",
      "generate-request.generationConfig.topK": "integer for top-K sampling",
      "generate-request.tools": "array of tools in this protocol's form",
    },
  },
  {
    section: "Resources and their fields: Content-generation response",
    suite: "generate-response",
    lines: {
      "generate-response.candidates":
        "array of content (role `model`, parts with text), finishReason such as `STOP`, index",
      "generate-response.usageMetadata": "integers promptTokenCount, candidatesTokenCount, totalTokenCount",
      "generate-response.modelVersion": "string: the model's name",
    },
  },
  {
    section: "Resources and their fields: Model entry, content-generation listing",
    suite: "listings",
    lines: {
      "generate-listing.name": "string: `models/<provider>/<model-name>`",
      "generate-listing.displayName": "string for people",
      "generate-listing.version": "string: the model's version",
      "generate-listing.inputTokenLimit": "integer: the most tokens it takes",
      "generate-listing.outputTokenLimit": "integer: the most tokens it makes",
      "generate-listing.supportedGenerationMethods": "strings, such as `generateContent`, `streamGenerateContent`",
    },
  },
  {
    section: "Resources and their fields: Model entry, messages-style listing",
    suite: "listings",
    lines: {
      "messages-listing.id": "string: `<provider>/<model-name>`",
      "messages-listing.type": "always `model`",
    },
  },
  {
    section: "Endpoints",
    suite: "endpoints",
    lines: {
      "endpoints.authentication": "every request carries its protocol's authentication header",
      "endpoints.content-type": "a body is JSON and `Content-Type` states that",
    },
  },
  {
    section: "Endpoints: Completions-style protocol",
    suite: "endpoints",
    lines: {
      "endpoint.chat-completions": "POST `/v1/chat/completions` completes a chat",
      "endpoint.responses": "POST `/v1/responses` is the responses interface",
      "endpoint.models": "GET `/v1/models` lists the models that can be called",
      "endpoint.models-count": "GET `/v1/models/count` counts them",
      "endpoint.embeddings": "POST `/v1/embeddings` embeds",
      "endpoint.images": "POST `/v1/images/generations` makes images",
    },
  },
  {
    section: "Endpoints: Messages-style protocol",
    suite: "endpoints",
    lines: {
      "endpoint.messages": "POST `/msgapi/v1/messages` converses",
      "endpoint.messages-models": "GET `/msgapi/v1/models` lists the models that can be called",
      "endpoint.messages-models-count": "GET `/msgapi/v1/models/count` counts them",
    },
  },
  {
    section: "Endpoints: Content-generation protocol",
    suite: "endpoints",
    lines: {
      "endpoint.generate-content":
        "POST `/genapi/v1beta/models/{model}:generateContent` generates; `{model}` is `<provider>/<model-name>`",
      "endpoint.generate-models": "GET `/genapi/v1beta/models` lists the models that can be called",
      "endpoint.generate-models-count": "GET `/genapi/v1beta/models/count` counts them",
    },
  },
  {
    section: "Endpoints: Operation shapes",
    suite: "endpoints",
    lines: {
      "operation.1": "chat request in, chat response out; with `stream` true in pieces",
      "operation.2": "messages request in, message out; needs `x-api-key` and `msg-version`",
      "operation.3": "content-generation request in, its response out",
      "operation.4": "the content-generation listing is an object with `models`",
      "operation.5":
        "the messages-style listing has `data`, `has_more`, `first_id`, `last_id`; needs `x-api-key` and `msg-version`",
      "operation.6": "the messages-style count is an object with `count`; needs `x-api-key` and `msg-version`",
    },
  },
  {
    section: "Endpoints: Routing extension",
    suite: "routing",
    lines: {
      "routing.provider": "a request body may have an object `provider`",
      "routing.routing": "string: `cost`, `latency` or `quality`",
      "routing.cost": "`cost` turns to where the request costs least",
      "routing.latency": "`latency` turns to where the answer comes soonest",
      "routing.quality": "`quality` turns to where answers are best",
      "routing.fallback": "array of model names, in order: where the preferred one is unavailable, another answers",
    },
  },
  {
    section: "Authentication",
    suite: "authentication",
    lines: {
      "authentication.every-request": "every request needs a valid key",
      "authentication.one-key": "one key works in all three protocols",
      "authentication.completions-style": "`Authorization: Bearer <API_KEY>`",
      "authentication.messages-style": "`x-api-key: <API_KEY>` and `msg-version: <version>`",
      "authentication.content-generation": "`x-gen-api-key: <API_KEY>`",
      "authentication.invalid": "a key that is none gives 401",
      "authentication.expired": "an expired key gives 401",
      "authentication.balance": "a key whose balance is too low gives 403",
      "authentication.model": "a key that may not call the model gives 403",
    },
  },
  {
    section: "Errors",
    suite: "errors",
    lines: {
      "error.400": "the request's parameters are wrong",
      "error.401": "the key is invalid or expired",
      "error.403": "the balance is too low, or the model not allowed",
      "error.429": "too many requests; carries the rate-limit headers",
      "error.500": "a fault of the gateway",
      "error.503": "no provider can answer at present",
    },
  },
  {
    section: "Errors: Error body shape",
    suite: "errors",
    lines: {
      "error.error": "object around the rest",
      "error.error.code": "string for programs, such as `invalid_api_key`",
      "error.error.message": "string for people",
      "error.error.type": "string: the kind, such as `authentication_error`",
    },
  },
  {
    section: "Limits: Rate limit",
    suite: "limits",
    lines: {
      "rate-limit.x-ratelimit-limit-requests": "integer: how many requests",
      "rate-limit.x-ratelimit-remaining-requests": "integer: how many are left, 0 when none",
      "rate-limit.x-ratelimit-reset-requests": "duration with its unit until there are more",
    },
  },
  {
    section: "Limits: Parameter bounds",
    suite: "limits",
    lines: {
      "bound.chat-temperature": "completions-style temperature: 0 to 2, 1 if omitted",
      "bound.chat-top_p": "completions-style top_p: 1 if omitted",
      "bound.chat-penalties": "frequency_penalty, presence_penalty: -2 to 2",
      "bound.chat-stream": "completions-style stream: false if omitted",
      "bound.messages-temperature": "messages-style temperature: 0 to 1, 1 if omitted",
      "bound.messages-top_p": "messages-style top_p: 1 if omitted",
      "bound.messages-max_tokens": "messages-style max_tokens: required",
      "bound.generate-temperature": "content-generation temperature: 0 to 2",
    },
  },
  {
    section: "Limits: Model token limits",
    suite: "limits",
    lines: {
      "token-limit.top-quality": "content-generation, best tier: 2097152 tokens in, 8192 out",
      "token-limit.fast": "content-generation, fast tier: 1048576 tokens in, 8192 out",
      "token-limit.lightest": "content-generation, lightest tier: 1048576 tokens in, 8192 out",
      "token-limit.messages-style": "messages-style: a window of 200K tokens for the models that line is about",
    },
  },
  {
    section: "Versioning",
    suite: "versioning",
    lines: {
      "versioning.1": "completions-style is under `/v1`, content-generation under `/v1beta`",
      "versioning.2": "every messages-style request has a `msg-version` in date form, such as `2023-06-01`",
      "versioning.3": "a model's version is part of its name; the content-generation listing shows it as `version`",
    },
  },
] as const satisfies readonly SpecificationTable[]

type KeysOf<Lines> = Lines extends unknown ? keyof Lines & string : never
export type LineId = KeysOf<(typeof TABLES)[number]["lines"]>

/** Requirements that are not fulfilled yet, and the missing feature. Their tests are skipped. */
export const WAITING: { readonly [id in LineId]?: string } = {}
