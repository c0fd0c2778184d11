// OpenAI's own client library, as the suites use it: its newest version, and the last of the fourth line, which many
// applications still pin.
import OpenAI from "openai"
import OpenAI4 from "openai4"

interface ClientVersion {
  readonly name: string
  readonly OpenAI: typeof OpenAI
  /** The object with `parse`, `stream` and `runTools` in this version. */
  readonly helpers: (client: OpenAI) => OpenAI["chat"]["completions"]
}

export const VERSIONS: readonly ClientVersion[] = [
  { name: "openai 7", OpenAI, helpers: (client) => client.chat.completions },
  {
    name: "openai 4",
    // Its types differ in what the suites do not use.
    OpenAI: OpenAI4 as unknown as typeof OpenAI,
    helpers: (client) =>
      (client as unknown as OpenAI4).beta.chat.completions as unknown as OpenAI["chat"]["completions"],
  },
]

export type ChatParams = OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming

export const HI = { model: "test/model", messages: [{ role: "user", content: "hi" }] } satisfies ChatParams
