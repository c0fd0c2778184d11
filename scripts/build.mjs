// Makes the single binary, dist/trivium: the gateway with its runtime, for machines without Node and npm.
// node scripts/build.mjs [--target bun-linux-arm64 …]: further words go to `bun build` as they are.
import { spawnSync } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { findBun } from "../bin/runtime.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const options = [
  "--compile",
  "--bytecode",
  "--format=esm",
  // A stranger's files in the working directory must not change how the gateway runs.
  "--no-compile-autoload-bunfig",
  "--no-compile-autoload-dotenv",
  `--outfile=${join("dist", "trivium")}`,
]
const words = ["build", ...options, ...process.argv.slice(2), "src/binary.ts", "src/worker.ts", "src/token-worker.ts"]
process.exit(spawnSync(findBun(), words, { cwd: root, stdio: "inherit" }).status ?? 1)
