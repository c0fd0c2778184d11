import { describe, expect, test } from "bun:test"
import { type SourceFile, sourceFiles } from "./sources.ts"
import { filesByTypeName, typeNameViolations } from "./type-names.ts"

test("every type name in src/ is defined in at most two files and is a precise noun", () => {
  const files = sourceFiles()
  expect(filesByTypeName(files).size).toBeGreaterThan(1000)
  expect(typeNameViolations(files)).toEqual([])
})

describe("a broken rule for type names is reported", () => {
  const broken: [string, SourceFile[], string][] = [
    [
      "a name is not defined in three files",
      [
        { path: "http/a.ts", text: "export interface LimitStatus {}" },
        { path: "access/b.ts", text: "type LimitStatus = string" },
        { path: "ledger/c.ts", text: "export abstract class LimitStatus {}" },
      ],
      "LimitStatus is defined in 3 files: http/a.ts, access/b.ts, ledger/c.ts",
    ],
    [
      "an interface is not named by a participle",
      [{ path: "http/a.ts", text: "interface Told {}" }],
      "Told in http/a.ts does not say what the type holds",
    ],
    [
      "a generic type alias is not named by a word without content",
      [{ path: "http/a.ts", text: "export type Place<Value> = Value[]" }],
      "Place in http/a.ts does not say what the type holds",
    ],
    [
      "a class is not named by a picture",
      [{ path: "exchange/a.ts", text: "export class House {}" }],
      "House in exchange/a.ts does not say what the type holds",
    ],
    [
      "a type inside a function counts",
      [{ path: "exchange/a.ts", text: "function f() {\n  type Ending = 1\n}" }],
      "Ending in exchange/a.ts does not say what the type holds",
    ],
  ]
  test.each(broken)("%s", (_, files, complaint) => {
    expect(typeNameViolations(files)).toEqual([complaint])
  })
})

describe("text that defines no type is accepted", () => {
  const accepted: [string, string][] = [
    ["an import of a type", 'import {\n  type Told,\n} from "elsewhere"'],
    ["a comment", "// interface Told {}\n/* class Place {} */"],
    ["a meaningless word inside a longer name", "interface ToldUsage {}"],
  ]
  test.each(accepted)("%s", (_, text) => {
    expect(typeNameViolations([{ path: "http/a.ts", text }])).toEqual([])
  })
})
