import { describe, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { ConfigError } from "./config-error.ts"
import { acme, folder, load, problems } from "./load-config.fixture.ts"
import { configFile } from "./load-config.ts"

describe("without any configuration", () => {
  test("by default the gateway listens on 127.0.0.1:8080, keeps its data in ./data and has no provider", () => {
    expect(load()).toEqual({
      server: {
        host: "127.0.0.1",
        port: 8080,
        cors: [],
        trustedProxies: [],
        maxInFlight: 2000,
        idleTimeout: 75,
        maxConnections: 10_000,
      },
      admin: { host: "127.0.0.1", ports: [8081, 0] },
      dataDir: join(folder, "data"),
      storePath: join(folder, "data", "trivium.db"),
      ledger: { suspenseHours: 24 },
      providers: [],
      models: [],
      groups: [],
      defaults: { requestsPerMinute: 600 },
      upstream: { isolation: "shared" },
      media: { fetch: false },
      credentialFiles: [],
    })
  })

  test.each(["", "\n", "# nothing yet\n", "---\n", "~", "{}", "server:\nproviders:\nmodels:\n"])(
    "an empty file (%p) is like no file",
    (yaml) => {
      expect(load(yaml)).toEqual(load())
    },
  )
})

describe("precedence", () => {
  const yaml = "server: { host: 0.0.0.0, port: 1111 }"

  test("the file overrides the defaults", () => {
    expect(load(yaml).server).toMatchObject({ host: "0.0.0.0", port: 1111 })
  })

  test("the environment overrides the file", () => {
    expect(load(yaml, { environment: { HOST: "::1", PORT: "2222" } }).server).toMatchObject({ host: "::1", port: 2222 })
  })

  test("flags override the environment", () => {
    const environment = { HOST: "::1", PORT: "2222", TRIVIUM_DATA: "/srv/env" }
    const config = load(yaml, { environment, flags: { host: "localhost", port: 3333, data: "elsewhere" } })
    expect(config.server).toMatchObject({ host: "localhost", port: 3333 })
    expect(config.dataDir).toBe(join(folder, "elsewhere"))
  })

  test("the administration's port has the same precedence, and only an explicit one has no alternatives", () => {
    const admin = (file?: string, given = {}) => load(file, given).admin.ports
    const file = "admin: { port: 1111 }"
    expect(admin()).toEqual([8081, 0])
    expect(admin(file)).toEqual([1111])
    expect(admin(file, { environment: { ADMIN_PORT: "2222" } })).toEqual([2222])
    expect(admin(file, { environment: { ADMIN_PORT: "2222" }, flags: { adminPort: "3333" } })).toEqual([3333])
    expect(load("admin: { host: 0.0.0.0 }").admin).toEqual({ host: "0.0.0.0", ports: [8081, 0] })
  })

  test("an empty variable counts as unset", () => {
    const environment = { HOST: "", PORT: "", TRIVIUM_DATA: "", TRIVIUM_CONFIG: "", OPENAI_API_KEY: " \n" }
    expect(load(undefined, { environment })).toEqual(load())
  })

  test("an invalid flag or variable is named", () => {
    expect(problems(undefined, { flags: { port: "http" } })).toEqual([
      "--port: expected a port, a whole number from 0 to 65535",
    ])
    expect(problems(undefined, { environment: { PORT: "70000", HOST: "http://x" } })).toEqual([
      "HOST: expected a host name or address",
      "PORT: expected a port, a whole number from 0 to 65535",
    ])
  })
})

describe("the file", () => {
  test("the file is trivium.yaml in the working directory unless --config or TRIVIUM_CONFIG names another", () => {
    const environment = { TRIVIUM_CONFIG: "/etc/trivium.yaml" }
    expect(configFile({ flags: {}, environment: {}, workingDir: folder })).toEqual({
      path: join(folder, "trivium.yaml"),
    })
    expect(configFile({ flags: {}, environment, workingDir: folder })).toEqual({
      path: "/etc/trivium.yaml",
      namedBy: "TRIVIUM_CONFIG",
    })
    expect(configFile({ flags: { config: "my.yaml" }, environment, workingDir: folder })).toEqual({
      path: join(folder, "my.yaml"),
      namedBy: "--config",
    })
  })

  test("a file named by a flag or variable must exist", () => {
    expect(problems(undefined, { flags: { config: "none.yaml" } })).toEqual([
      `--config: there is no file ${join(folder, "none.yaml")}`,
    ])
    expect(problems(undefined, { environment: { TRIVIUM_CONFIG: "none.yaml" } })).toEqual([
      `TRIVIUM_CONFIG: there is no file ${join(folder, "none.yaml")}`,
    ])
  })

  test("an unreadable file is an error", () => {
    mkdirSync(join(folder, "folder.yaml"))
    expect(problems(undefined, { flags: { config: "folder.yaml" } })).toEqual([
      `--config: the file ${join(folder, "folder.yaml")} cannot be read (EISDIR)`,
    ])
  })

  test("the file's name precedes the line number, relative if it is below the working directory", () => {
    mkdirSync(join(folder, "sub"))
    writeFileSync(join(folder, "sub", "a.yaml"), "[]")
    expect(problems(undefined, { flags: { config: "sub/a.yaml" } })[0]).toStartWith(
      "sub/a.yaml:1:1: expected a mapping",
    )
    expect(
      problems(undefined, { flags: { config: "../a.yaml" }, workingDir: join(folder, "sub", "b") })[0],
    ).toStartWith(`${join(folder, "sub", "a.yaml")}:1:1: `)
  })

  test("the file sets the store's path, relative to the working directory", () => {
    expect(load("store: { url: sqlite://./db/t.db }").storePath).toBe(join(folder, "db", "t.db"))
    expect(load("store: { url: sqlite:///var/t.db }").storePath).toBe("/var/t.db")
    expect(problems("store: { url: postgres://u:secret@db/x }")).toEqual([
      "trivium.yaml:1:15 store.url: expected sqlite://PATH, where PATH is a file path",
    ])
  })
})

test("all problems are reported at once, in the order of the file, also as data", () => {
  const yaml = "server: { port: x }\nmodels:\n  - { id: bad }\nproviders: { openai: { api_key: 5 } }\n"
  expect(problems(yaml, { environment: { PORT: "x" } })).toEqual([
    "PORT: expected a port, a whole number from 0 to 65535",
    "trivium.yaml:1:17 server.port: expected a whole number from 0 to 65535, found a string",
    'trivium.yaml:3:5 models[0]: the member "targets" is missing',
    'trivium.yaml:3:11 models[0].id: "bad" is not a model id of the form "provider/model-name"',
    "trivium.yaml:4:33 providers.openai.api_key: expected a string, found a number (put it in quotes)",
  ])
  try {
    load("server: { port: x }")
  } catch (error) {
    expect((error as ConfigError).problems).toEqual([
      { path: "server.port", line: 1, column: 17, message: "expected a whole number from 0 to 65535, found a string" },
    ])
  }
})

test("the configuration is deeply frozen", () => {
  const config = load(`${acme("aliases: [x]")}providers: { openai: { api_key: k } }`)
  const unfrozen = (value: unknown): boolean =>
    typeof value === "object" && value !== null && (!Object.isFrozen(value) || Object.values(value).some(unfrozen))
  expect(unfrozen(config)).toBe(false)
})

describe("CORS origins, trusted proxies and the limit of concurrent requests", () => {
  test("CORS origins, trusted proxies and the request limit are read as written", () => {
    const yaml = `server:
  cors: ["https://app.example.com", "http://localhost:3000"]
  trusted_proxies: [10.0.0.0/8, "::1", 192.168.1.7]
  max_in_flight: 50`
    expect(load(yaml).server).toMatchObject({
      cors: ["https://app.example.com", "http://localhost:3000"],
      trustedProxies: ["10.0.0.0/8", "::1", "192.168.1.7"],
      maxInFlight: 50,
    })
    expect(load('server: { cors: ["*"] }').server.cors).toEqual(["*"])
  })

  test.each([
    ["an origin with a path", 'server: { cors: ["https://a.example/x"] }', /server\.cors\[0\].*not an origin/],
    ["a host without scheme", "server: { cors: [a.example] }", /server\.cors\[0\].*not an origin/],
    ["a proxy that is a name", "server: { trusted_proxies: [proxy.internal] }", /trusted_proxies\[0\].*not an address/],
    ["a range too long", "server: { trusted_proxies: [10.0.0.0/33] }", /trusted_proxies\[0\].*not an address/],
    ["no request at once", "server: { max_in_flight: 0 }", /max_in_flight/],
  ])("%s is refused by name", (_, yaml, message) => {
    expect(problems(yaml).join()).toMatch(message)
  })
})
