// Streams as hosts write them, and as clients get them. Texts are bytes, one character each.

export interface RelayedStream {
  readonly name: string
  readonly sent: string
  /** The stream of a client that requested usage. */
  readonly shown: string
  /** The stream of a client that did not; the same if the stream has no usage. */
  readonly hidden?: string
}

const DONE = "data: [DONE]\n\n"
const NAME = '"upstream-model"'
const OURS = '"test/model"'

const role = (model: string) => `{"id":"c","model":${model},"choices":[{"index":0,"delta":{"role":"assistant"}}]}`
const text = (model: string) =>
  `{"choices":[{"delta":{"role":"assistant","content":"Hi"},"index":0}], "model" : ${model} ,"x":1.0}`
const stop = (model: string) => `{"model":${model},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

/** The same stream with one line end or another. */
function plainStream(name: string, end: string): RelayedStream {
  const stream = (model: string, usage: string) =>
    `data: ${role(model)}${end}${end}data: ${text(model)}${end}${end}data: ${stop(model)}${end}${end}` +
    `${usage}data: [DONE]${end}${end}`
  const usage = (model: string) =>
    `data: {"model":${model},"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}${end}${end}`
  return { name, sent: stream(NAME, usage(NAME)), shown: stream(OURS, usage(OURS)), hidden: stream(OURS, "") }
}

function stream(name: string, make: (model: string) => string): RelayedStream {
  return { name, sent: make(NAME), shown: make(OURS) }
}

const usageWithChoices = (model: string, { one, two }: { one: string; two: string }) =>
  `data: {"model":${model},"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]${one}}\n\n` +
  `data: {"model":${model},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]${two}}\n\ndata: [DONE]\n\n`

const USAGE_TEXTS = { one: ', "usage":null', two: ',"usage" : {"prompt_tokens":1,"completion_tokens":2}' }

const nullUsage = (model: string, usage: string) =>
  `data: ${text(model)}\n\ndata: {${usage}"model":${model},"choices":[],"x_filters":[1.0]}\n\n` +
  `data: ${stop(model)}\n\ndata: [DONE]\n\n`

/** The data of one event on two lines. */
const twoLines = (model: string, { before = "", end }: { before?: string; end: string }) =>
  `${before}data: {"model":${model},${end}data: "choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}${end}${end}` +
  `data: ${stop(model)}${end}${end}data: [DONE]${end}${end}`

const answer = (model: string) => `data: ${text(model)}\n\ndata: ${stop(model)}`

function ended(sent: string, shown: string): Pick<RelayedStream, "sent" | "shown"> {
  return { sent: answer(NAME) + sent, shown: answer(OURS) + shown }
}

/** Streams that pass byte for byte. */
export const STREAMS: readonly RelayedStream[] = [
  plainStream("a stream with LF line ends", "\n"),
  plainStream("a stream with CRLF line ends", "\r\n"),
  plainStream("a stream with CR line ends", "\r"),
  stream(
    "a stream with comments, blank lines, ids, events and unknown fields",
    (model) =>
      `: a comment\n\n\n\n:\nid: 7\nevent: message\nretry: 10\nx-unknown: y\ndata: ${text(model)}\n: inside\n\n` +
      `:ping\n\nid\ndata:${stop(model)}\n\ndatax: 1\n\ndata: [DONE]\n\n`,
  ),
  stream(
    "a stream with a byte order mark",
    (model) => `\xef\xbb\xbfdata: ${text(model)}\n\ndata: ${stop(model)}\n\ndata: [DONE]\n\n`,
  ),
  stream(
    "a stream with unknown members, escapes and raw bytes",
    (model) =>
      `data:  {"x_new":{"model":"upstream-model","usage":{}},"mod\\u0065l":${model},"choices":[{"index":0,` +
      `"delta":{"role":"assistant","content":"\\u0041 \\ud800 \xf0\x9f\xa6\x8a \xe2\x80\xa8"}}],"created":1731000000.0}\n\n` +
      `data: ${stop(model)}\n\ndata: [DONE]\n\n`,
  ),
  stream(
    "a stream with characters of several bytes",
    (model) =>
      `data: {"model":${model},"choices":[{"index":0,"delta":{"role":"assistant","content":"\xc3\xa9 \xf0\x9f\xa6\x8a \xe5\x90\x8d"}}]}\n\n` +
      `data: ${stop(model)}\n\ndata: [DONE]\n\n`,
  ),
  stream(
    "a stream whose events do not name a model",
    () =>
      'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
  ),
  {
    name: "a stream with usage next to its choices",
    sent: usageWithChoices(NAME, USAGE_TEXTS),
    shown: usageWithChoices(OURS, USAGE_TEXTS),
    hidden: usageWithChoices(OURS, { one: "", two: "" }),
  },
  {
    name: "a stream with null usage and no choices",
    sent: nullUsage(NAME, '"usage" : null, '),
    shown: nullUsage(OURS, '"usage" : null, '),
    hidden: nullUsage(OURS, ""),
  },
  stream("a stream with data on several lines", (model) => twoLines(model, { end: "\n" })),
  { name: "a stream without its last line end", ...ended("\n\ndata: [DONE]\n", "\n\ndata: [DONE]\n\n\n") },
  { name: "a stream without its last line ends", ...ended("\n\ndata: [DONE]", "\n\ndata: [DONE]\n\n") },
  { name: "a stream that finishes without its terminal event", ...ended("\n\n", "\n\ndata: [DONE]\n\n") },
  { name: "a stream that finishes without any line end", ...ended("", "\n\ndata: [DONE]\n\n") },
  { name: "a stream with more after its terminal event", ...ended(`\n\n${DONE}data: {}\n\n: x\n\n`, `\n\n${DONE}`) },
]

/** Streams with the same events for a client, written on other lines. */
export const REWRITTEN: readonly RelayedStream[] = [
  stream("data on several lines with CRLF line ends", (model) => twoLines(model, { end: "\r\n" })),
  stream("data on several lines with CR line ends", (model) => twoLines(model, { end: "\r" })),
  stream("data on several lines among other fields", (model) => twoLines(model, { before: "id: 7\n", end: "\n" })),
  stream("data on several lines behind a byte order mark", (model) => {
    return twoLines(model, { before: "\xef\xbb\xbf", end: "\n" })
  }),
]
