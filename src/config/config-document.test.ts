import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { acme, load, problems } from "./load-config.fixture.ts"

describe("variables", () => {
  test("variables are replaced inside any string", () => {
    const yaml = `providers: { openai: { api_key: "\${A}", base_url: "http://\${B}:\${C}/v1" } }`
    const [provider] = load(yaml, { environment: { A: "key", B: "host", C: "81" } }).providers
    expect(provider?.apiKey?.reveal()).toBe("key")
    expect(provider?.baseUrl).toBe("http://host:81/v1")
  })

  test("a variable may hold a number, or true and false", () => {
    expect(load(`server: { port: "\${P}" }`, { environment: { P: "81" } }).server.port).toBe(81)
    expect(load(acme(`reasoning: "\${R}"`), { environment: { R: "true" } }).models[0]?.reasoning).toBe(true)
    expect(problems(`server: { port: "81" }`)[0]).toEndWith("found a string")
  })

  test("an unset variable is an error that names the variable and its position", () => {
    expect(problems(`providers:\n  openai:\n    api_key: "\${ONE}-\${TWO}"\n`)).toEqual([
      "trivium.yaml:3:14 providers.openai.api_key: the environment variable ONE is not set",
      "trivium.yaml:3:14 providers.openai.api_key: the environment variable TWO is not set",
    ])
  })

  test("a variable has a plain name, and $${ is a literal dollar brace", () => {
    for (const text of [`\${A:-b}`, "${", `\${}`, "${A"]) {
      expect(problems(acme(`display_name: "${text}"`), { environment: { A: "x" } })[0]).toContain(
        "must be followed by a variable name",
      )
    }
    expect(load(acme(`display_name: "a $\${A} $5"`)).models[0]?.displayName).toBe(`a \${A} $5`)
  })

  test("the values of variables are not expanded again", () => {
    const environment = { A: `\${B}`, B: "b" }
    expect(load(acme(`display_name: "\${A}"`), { environment }).models[0]?.displayName).toBe(`\${B}`)
  })
})

describe("YAML", () => {
  test("malformed YAML is reported with line and column", () => {
    const [first] = problems("server:\n  host: [1\nmodels: 3\n")
    expect(first).toMatch(/^trivium\.yaml:\d+:\d+: not valid YAML: /)
    expect(problems('a: "x\n')[0]).toMatch(/^trivium\.yaml:\d+:\d+: not valid YAML: missing closing/)
    expect(problems("{}\n---\n{}\n")[0]).toContain("not valid YAML")
  })

  test("YAML that is not a mapping is an error", () => {
    expect(problems("- a\n")).toEqual(["trivium.yaml:1:1: expected a mapping, found a list"])
    expect(problems("42")).toEqual(["trivium.yaml:1:1: expected a mapping, found a number"])
    expect(problems("\n  text\n")).toEqual(["trivium.yaml:2:3: expected a mapping, found a string"])
  })

  test("a YAML name that is set twice is an error, in any spelling", () => {
    expect(problems("server: {}\nserver: {}\n")).toEqual(['trivium.yaml:2:1 server: "server" is set twice'])
    expect(problems('server: { port: 1, "port": 2 }')).toEqual(['trivium.yaml:1:20 server.port: "port" is set twice'])
    expect(problems('providers: { 1: { type: openai }, "1": { type: openai } }')[0]).toContain('"1" is set twice')
  })

  test("YAML anchors share their content", () => {
    const yaml =
      "models:\n  - { id: a/b, targets: &t [{ provider: openai, model: m }] }\n  - { id: a/c, targets: *t }\n"
    const { models } = load(yaml)
    expect(models[1]?.targets).toEqual(models[0]?.targets ?? [])
    expect(problems("server: *none")[0]).toContain("server: refers to an anchor that is not set before it")
  })

  test("nested YAML aliases do not expand without end", () => {
    const laughs = ["x0: &x0 [a, a]"]
    for (let depth = 1; depth < 40; depth++) {
      laughs.push(`x${depth}: &x${depth} [${`*x${depth - 1}, `.repeat(9)}]`)
    }
    expect(problems(`${laughs.join("\n")}\nmodels: *x39\n`).length).toBeGreaterThan(0)
    expect(problems("models: &m [*m, *m]").length).toBeGreaterThan(0)
    const targets = `&t [${"{ provider: openai, model: m }, ".repeat(100)}]`
    const many = Array.from({ length: 1100 }, (_, index) => `  - { id: a/b${index}, targets: *t }`)
    const last = problems(`models:\n  - { id: a/b, targets: ${targets} }\n${many.join("\n")}\n`)
    expect(last).toEqual(["trivium.yaml:1003:29 models[1001].targets: uses more than 1000 aliases"])
  })

  test("deeply nested YAML is an error like any other", () => {
    expect(problems("[".repeat(20_000)).length).toBeGreaterThan(0)
    expect(problems(`${"[".repeat(20_000)}${"]".repeat(20_000)}`).length).toBeGreaterThan(0)
    expect(problems(`a: ${"{ a: ".repeat(20_000)}${"}".repeat(20_000)}`).length).toBeGreaterThan(0)
  })
})

describe("any file content", () => {
  const words =
    `server host port providers openai api_key models id targets aliases provider a/b m 8080 true ~ \${A} &a *a << ` +
    "!!binary !x [ ] { } \" ' # @ ` 2001-01-01 --- ..."
  const layout = ["? ", "- ", ": ", ", ", "\n", "\n  ", "\n    ", "|\n", ">-\n", "\t", "%YAML 1.1\n---\n", "\n---\n"]
  const word = fc.constantFrom(...words.split(" "), ...layout)
  const garbage = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(word, { maxLength: 40 }).map((words) => words.join("")),
  )

  test("loading gives a configuration or a ConfigError, never another error", () => {
    fc.assert(
      fc.property(garbage, (yaml) => {
        problems(yaml)
      }),
      { numRuns: 3000 },
    )
  })

  test("any JSON value at any known position is read or refused", () => {
    const places = [
      (value: string) => value,
      (value: string) => `server: ${value}`,
      (value: string) => `server: { port: ${value} }`,
      (value: string) => `providers: ${value}`,
      (value: string) => `providers: { openai: { api_key: ${value}, base_url: ${value}, type: ${value} } }`,
      (value: string) => `models: ${value}`,
      (value: string) => `models: [{ id: ${value}, aliases: ${value}, kind: ${value}, targets: [${value}] }]`,
    ]
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(...places), (json, node) => {
        problems(node(json))
      }),
      { numRuns: 1000 },
    )
  })

  test("a credential never appears in an error message, unless it was written as a name", () => {
    const key = "sk-SECRET"
    const valueOnly = [...words.split(" "), ...layout].filter((each) => !/[:?{]/.test(each) || each.startsWith("$"))
    const around = fc.array(fc.constantFrom(...valueOnly), { maxLength: 6 }).map((parts) => parts.join(""))
    fc.assert(
      fc.property(around, around, (before, after) => {
        const lines = problems(`providers:\n  openai:\n    api_key: ${before}${key}${after}`)
        expect(lines.join("\n")).not.toContain(key)
      }),
      { numRuns: 2000 },
    )
  })
})
