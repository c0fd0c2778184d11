// The rules for files: no crowded folder, and the same work has the same file name in every chat codec.

import type { SourceFile } from "./sources.ts"

const MOST_FILES_PER_FOLDER = 20

const CHAT_FOLDER = "protocols/chat"

/** Protocols of clients; the others are used only towards providers. */
const CLIENT_PROTOCOLS = ["anthropic-messages", "gemini-generate", "openai-chat", "openai-responses"]
const CHAT_PROTOCOLS = [...CLIENT_PROTOCOLS, "bedrock-converse"]

const CODEC_FILES = [
  "citations.ts",
  "codec.ts",
  "decode/decode-part.ts",
  "decode/decode-response.ts",
  "decode/decode-stream.ts",
  "encode/encode-messages.ts",
  "encode/encode-part.ts",
  "encode/encode-request.ts",
  "encode/encode-settings.ts",
  "encode/encode-tools.ts",
  "errors.ts",
  "fates.ts",
  "finish-reasons.ts",
  "passthrough-fields.ts",
  "usage.ts",
]

const CLIENT_PROTOCOL_FILES = [
  "body-rules.ts",
  "count-hosted-calls.ts",
  "decode/decode-messages.ts",
  "decode/decode-request.ts",
  "decode/decode-settings.ts",
  "decode/decode-tools.ts",
  "encode/encode-response.ts",
  "encode/encode-stream.ts",
  "endpoints.ts",
  "read-request.ts",
  "relay-response.ts",
  "relay-stream.ts",
  "setting-paths.ts",
]

/** The file that exports each of these functions, in every chat codec that has it. */
const HOMES: Readonly<Record<string, string>> = {
  decodeCitation: "citations.ts",
  decodeFinish: "finish-reasons.ts",
  decodeLogprobs: "logprobs.ts",
  decodeMedia: "decode/decode-media.ts",
  decodeMessages: "decode/decode-messages.ts",
  decodeRequest: "decode/decode-request.ts",
  decodeResponse: "decode/decode-response.ts",
  decodeSettings: "decode/decode-settings.ts",
  decodeStream: "decode/decode-stream.ts",
  decodeToolChoice: "decode/decode-tools.ts",
  decodeTools: "decode/decode-tools.ts",
  decodeUsage: "usage.ts",
  encodeCitation: "citations.ts",
  encodeCount: "count-tokens.ts",
  encodeFinish: "finish-reasons.ts",
  encodeLogprobs: "logprobs.ts",
  encodeMedia: "encode/encode-media.ts",
  encodeMessages: "encode/encode-messages.ts",
  encodeRequest: "encode/encode-request.ts",
  encodeResponse: "encode/encode-response.ts",
  encodeSettings: "encode/encode-settings.ts",
  encodeStream: "encode/encode-stream.ts",
  encodeThinking: "encode/encode-reasoning-settings.ts",
  encodeTools: "encode/encode-tools.ts",
  encodeUsage: "usage.ts",
  isForced: "encode/encode-tools.ts",
  relayStream: "relay-stream.ts",
  reportForeignFields: "passthrough-fields.ts",
  restorePassthrough: "passthrough-fields.ts",
}

/** Folders of src/ with more source files on one level than a reader can keep in view. */
export function crowdedFolders(files: readonly SourceFile[]): string[] {
  const counts = new Map<string, number>()
  for (const { path } of files) {
    const folder = path.split("/").slice(0, -1).join("/")
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, count]) => count > MOST_FILES_PER_FOLDER)
    .map(([folder, count]) => `src/${folder} has ${count} files on one level; ${MOST_FILES_PER_FOLDER} are allowed`)
}

/** Files that a chat codec lacks although all its siblings have them. */
export function missingCodecFiles(files: readonly SourceFile[]): string[] {
  const present = new Set(files.map(({ path }) => path))
  return chatProtocols(files).flatMap((protocol) =>
    expectedFiles(protocol)
      .map((file) => `${CHAT_FOLDER}/${protocol}/${file}`)
      .filter((path) => !present.has(path))
      .map((path) => `${path} is missing`),
  )
}

/** Functions that a chat codec exports from another file than its siblings do. */
export function misplacedCodecExports(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const [, file] = path.match(/^protocols\/chat\/[^/]+\/(.+)$/) ?? []
    if (file === undefined) return []
    return [...text.matchAll(/^export (?:async )?function (\w+)/gm)]
      .map(([, name = ""]) => ({ name, home: HOMES[name] ?? file }))
      .filter(({ home }) => home !== file)
      .map(({ name, home }) => `${path} exports ${name}, which belongs in ${home}`)
  })
}

/** The listed protocols and every further folder, so that a sixth codec follows the same names. */
function chatProtocols(files: readonly SourceFile[]): string[] {
  const folders = files
    .map(({ path }) => path.split("/"))
    .filter((parts) => parts.length > 3 && parts.slice(0, 2).join("/") === CHAT_FOLDER)
    .map((parts) => parts[2] ?? "")
  return [...new Set([...CHAT_PROTOCOLS, ...folders])]
}

function expectedFiles(protocol: string): string[] {
  if (!CLIENT_PROTOCOLS.includes(protocol)) return CODEC_FILES
  return [...CODEC_FILES, ...CLIENT_PROTOCOL_FILES, `${protocol}.ts`]
}
