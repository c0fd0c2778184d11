import { describe, expect, test } from "bun:test"
import { camelCase, foldedForms, foldName, NameWatch, snakeCase } from "./name-watch.ts"

const watch = new NameWatch({ spelled: ["model", "max_tokens", "topK"], reported: ["file_id"] })
const isReported = (name: string) => watch.reportsAny(name, 0, name.length)

describe("a watched name", () => {
  test.each(["model", "max_tokens", "topK"])("a watched name in its own spelling is not reported: %s", (name) => {
    expect(isReported(name)).toBe(false)
  })

  test.each([
    ...["Model", "MODEL", "mOdel", "Max_Tokens", "maxTokens", "maxtokens", "MAXTOKENS"],
    ...["top_k", "TopK", "topk", "TOP_K", "file_id", "File_ID", "fileId", "FILEID"],
  ])("a watched name is reported in another spelling: %s", (name) => {
    expect(isReported(name)).toBe(true)
    expect(watch.reports(name, 0, name.length)).toBe(true)
  })

  test.each(["mod\\u0065l", "max_token\u017f", "top\u212a", "schlüssel"])(
    "%s is always reported as a possible spelling of a watched name",
    (name) => {
      expect(isReported(name)).toBe(true)
    },
  )
})

test.each(["models", "mode", "max_token", "id", "", "_", "1", "file_ids", "nodel"])(
  "%j is not a spelling of a watched name",
  (name) => {
    expect(isReported(name)).toBe(false)
  },
)

test("names are folded as case-insensitive decoders fold them", () => {
  expect(foldName("max_token\u017f")).toBe("max_tokens")
  expect(foldName("\u212aEY")).toBe("key")
  expect(foldedForms("maxOutputTokens")).toEqual(["max_output_tokens", "maxoutputtokens"])
  expect(foldedForms("n")).toEqual(["n"])
  expect(snakeCase("maxOutputTokens")).toBe("max_output_tokens")
  expect(camelCase("cache_write_1h")).toBe("cacheWrite1h")
})
