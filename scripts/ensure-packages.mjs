// Installs the packages of folders with a package.json of their own, unless they match the lock file already:
// node scripts/ensure-packages.mjs FOLDER …
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))

for (const folder of process.argv.slice(2)) {
  const path = join(root, folder)
  const mark = join(path, "node_modules", ".trivium-lock")
  const lock = createHash("sha256")
    .update(readFileSync(join(path, "package-lock.json")))
    .digest("hex")
  if (existsSync(mark) && readFileSync(mark, "utf8") === lock) continue
  console.log(`installing the packages of ${folder}`)
  // Errors alone: these packages name the Node they were tested with, and run on the project's own Bun or on yours.
  const { status } = spawnSync("npm", ["ci", "--ignore-scripts", "--loglevel=error"], {
    cwd: path,
    stdio: "inherit",
    shell: process.platform === "win32",
  })
  if (status !== 0) {
    console.error(`The packages of ${folder} cannot be installed: see above.`)
    process.exit(1)
  }
  writeFileSync(mark, lock)
}
