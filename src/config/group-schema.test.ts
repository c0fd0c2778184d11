import { describe, expect, test } from "bun:test"
import { load, problems } from "./load-config.fixture.ts"

const chat = "models: [{ id: acme/chat, aliases: [acme/c], targets: [{ provider: openai, model: m }] }]"

describe("an entry under groups", () => {
  test("an entry under groups is read with all its members, for bundled models and those of the file", () => {
    const yaml = `${chat}
groups:
  - { id: auto/cheap, models: [acme/chat, openai/gpt-4o-mini], routing: cost }
  - { id: auto/one, models: [openai/gpt-4o] }
`
    expect(load(yaml).groups).toEqual([
      { id: "auto/cheap", models: ["acme/chat", "openai/gpt-4o-mini"], routing: "cost" },
      { id: "auto/one", models: ["openai/gpt-4o"] },
    ])
  })

  test("an entry under groups needs an id and at least one model", () => {
    expect(
      problems("groups:\n  - { models: [openai/gpt-4o] }\n  - { id: auto/x }\n  - { id: auto/y, models: [] }\n"),
    ).toEqual([
      'trivium.yaml:2:5 groups[0]: the member "id" is missing',
      'trivium.yaml:3:5 groups[1]: the member "models" is missing',
      "trivium.yaml:4:27 groups[2].models: expected at least 1, found 0",
    ])
  })

  test("an entry under groups names existing models by their ids: no groups, and each once", () => {
    const group = (models: string) => problems(`${chat}\ngroups: [{ id: auto/x, models: [${models}] }]`)
    expect(group("openai/gpt4o, zz/top, acme/c")).toEqual([
      'trivium.yaml:2:33 groups[0].models[0]: unknown model "openai/gpt4o"; did you mean "openai/gpt-4o"?',
      'trivium.yaml:2:47 groups[0].models[1]: unknown model "zz/top"; it is neither bundled nor under "models"',
      'trivium.yaml:2:55 groups[0].models[2]: unknown model "acme/c"; did you mean "acme/chat"?',
    ])
    expect(group("auto/x")[0]).toContain('unknown model "auto/x"')
    expect(group("acme/chat, acme/chat")).toEqual([
      'trivium.yaml:2:10 groups[0]: "acme/chat" appears twice under "models"',
    ])
  })

  test("an entry under groups needs a unique id", () => {
    const group = (id: string) =>
      problems(`${chat}\ngroups: [{ id: ${id}, models: [acme/chat] }, { id: auto/x, models: [acme/chat] }]`)
    expect(group("openai/gpt-4o")).toEqual([
      'trivium.yaml:2:16 groups[0].id: "openai/gpt-4o" is the id of a bundled model',
    ])
    expect(group("acme/c")).toEqual(['trivium.yaml:2:16 groups[0].id: "acme/c" is taken by models[0].aliases[0]'])
    expect(group("auto/x")).toEqual(['trivium.yaml:2:53 groups[1].id: "auto/x" is taken by groups[0].id'])
    expect(group("cheap")[0]).toEndWith('"cheap" is not a model id of the form "provider/model-name"')
  })
})

describe("a strategy", () => {
  test.each(["cost", "latency", "quality"])("a strategy may be %s, as the default and for a group", (routing) => {
    const yaml = `defaults: { routing: ${routing} }\ngroups: [{ id: auto/x, models: [openai/gpt-4o], routing: ${routing} }]`
    const { defaults, groups } = load(yaml)
    expect([defaults.routing as string, groups[0]?.routing as string]).toEqual([routing, routing])
    expect(defaults.requestsPerMinute).toBe(600)
  })

  test("an unknown strategy is refused, and there is none by default", () => {
    expect(problems("defaults: { routing: latncy }")[0]).toEndWith('unknown value "latncy"; did you mean "latency"?')
    expect(load("defaults: { requests_per_minute: 5 }").defaults).toEqual({ requestsPerMinute: 5 })
  })
})

test("a target may declare the precision of its weights", () => {
  const model = (precision: string) =>
    `models: [{ id: a/b, targets: [{ provider: openai, model: m, precision: ${precision} }] }]`
  expect(load(model("fp8")).models[0]?.targets?.[0]?.precision).toBe("fp8")
  expect(problems(model("fp9"))[0]).toContain('unknown value "fp9"; did you mean "fp8"?')
})
