// The entry of the single binary. It has no launcher, so it sets what Bun must find in its environment by starting
// itself once more, in the same process, and then is the command line.
import { environment } from "../bin/runtime.mjs"

const isSet = Object.entries(environment).every(([name, value]) => process.env[name] === value)
if (!isSet && process.execve) {
  const [, , ...words] = process.argv
  process.execve(process.execPath, [process.execPath, ...words], { ...process.env, ...environment })
}
await import("./main.ts")
