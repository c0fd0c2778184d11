import { expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { collectMachineNames } from "./machine-names.ts"

const FILE = join(import.meta.dir, "machine-names.txt")

test("names that programs read are those of the last release; TRIVIUM_UPDATE_NAMES=1 accepts new ones", async () => {
  const names = await collectMachineNames()
  if (process.env.TRIVIUM_UPDATE_NAMES) writeFileSync(FILE, `${names.join("\n")}\n`)
  expect(names).toEqual(readFileSync(FILE, "utf8").trimEnd().split("\n"))
}, 60_000)
