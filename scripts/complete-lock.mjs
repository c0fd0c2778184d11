// Completes the package-lock.json files: node scripts/complete-lock.mjs, after every npm install that changed one.
// A registry mirror that lacks some platform's optional packages makes npm leave them out of the lock file, and `npm ci`
// then refuses that file. This names them as npm would, without the integrity that only the package itself can give.
import { readFileSync, writeFileSync } from "node:fs"

const systems = /(android|darwin|freebsd|linux|openharmony|win32)-([a-z0-9]+)/

for (const folder of ["..", "../tools", "../test/clients"])
  complete(new URL(`${folder}/package-lock.json`, import.meta.url))

function complete(path) {
  const lock = JSON.parse(readFileSync(path, "utf8"))
  const { packages } = lock
  for (const [owner, { optionalDependencies = {}, dev }] of Object.entries({ ...packages })) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const place = `node_modules/${name}`
      const [, os, cpu] = systems.exec(name) ?? []
      if (packages[place] || owner === "" || !os) continue
      const libc = os === "linux" ? { libc: [name.includes("musl") ? "musl" : "glibc"] } : {}
      packages[place] = { version, cpu: [cpu], ...(dev && { dev }), optional: true, os: [os], ...libc }
    }
  }
  lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
}
