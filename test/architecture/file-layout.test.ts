import { expect, test } from "bun:test"
import { crowdedFolders, misplacedCodecExports, missingCodecFiles } from "./file-layout.ts"
import { type SourceFile, sourceFiles } from "./sources.ts"

test("no folder of src/ has more than 20 source files on one level", () => {
  expect(crowdedFolders(sourceFiles())).toEqual([])
})

test("a folder with 21 source files is reported, and files in its sub-folders are not counted", () => {
  const twenty = Array.from({ length: 20 }, (_, index) => emptyFile(`http/file-${index}.ts`))
  expect(crowdedFolders([...twenty, emptyFile("http/docs/page.ts")])).toEqual([])
  expect(crowdedFolders([...twenty, emptyFile("http/one-more.ts")])).toEqual([
    "src/http has 21 files on one level; 20 are allowed",
  ])
})

test("every chat codec has a file of the same name for the same work", () => {
  expect(missingCodecFiles(sourceFiles())).toEqual([])
})

test("a codec without one of the shared files is reported", () => {
  expect(missingWithout("bedrock-converse/errors.ts")).toEqual(["protocols/chat/bedrock-converse/errors.ts is missing"])
})

test("a protocol that clients speak has to read requests and write responses", () => {
  expect(missingWithout("openai-chat/encode/encode-response.ts")).toEqual([
    "protocols/chat/openai-chat/encode/encode-response.ts is missing",
  ])
})

test("every chat codec exports a shared function from the file that its siblings use", () => {
  expect(misplacedCodecExports(sourceFiles())).toEqual([])
})

test("a codec that exports a shared function from another file is reported", () => {
  const moved = { path: "protocols/chat/openai-chat/relay-response.ts", text: "export function decodeFinish() {}" }
  expect(misplacedCodecExports([moved])).toEqual([
    "protocols/chat/openai-chat/relay-response.ts exports decodeFinish, which belongs in finish-reasons.ts",
  ])
})

test("a new chat codec has to use the shared file names", () => {
  const added = missingCodecFiles([...sourceFiles(), emptyFile("protocols/chat/new-protocol/index.ts")])
  expect(added).toContain("protocols/chat/new-protocol/codec.ts is missing")
})

function missingWithout(removed: string): string[] {
  return missingCodecFiles(sourceFiles().filter(({ path }) => path !== `protocols/chat/${removed}`))
}

function emptyFile(path: string): SourceFile {
  return { path, text: "" }
}
