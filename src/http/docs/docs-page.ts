// Renders an OpenAPI description as one self-contained HTML page that works without scripts.
import { createHash } from "node:crypto"
import { isObject, type Json, type JsonObject } from "../../canonical/json.ts"
import { codeTag, type HtmlFragment, html, joinHtml, markdown, rawHtml } from "./html.ts"
import { SCRIPT, STYLE } from "./page-assets.ts"
import { schemaRows } from "./schema-table.ts"

interface DocsPage {
  readonly html: string
  /** Content security policy: only the page's own inline assets. */
  readonly policy: string
}

interface DocumentedOperation {
  readonly method: string
  readonly path: string
  readonly operation: JsonObject
}

export function docsPage(description: JsonObject): DocsPage {
  const info = memberOf(description, "info")
  const tags = Map.groupBy(operationsIn(description), ({ operation }) => String(listIn(operation, "tags")[0] ?? ""))
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${textIn(info, "title")}</title>
<style>${rawHtml(STYLE)}</style>
</head>
<body>
<header>
<h1>${textIn(info, "title")} <small>${textIn(info, "version")}</small></h1>
${markdown(textIn(info, "description"))}
<p><a href="/openapi.json">openapi.json</a></p>
<label id="search" hidden>Search <input type="search" autocomplete="off" spellcheck="false"></label>
</header>
<main>
${joinHtml([...tags].map(([tag, operations]) => renderSection(tag, operations)))}
${sharedResponses(description)}${renderSchemas(description)}
</main>
<script>${rawHtml(SCRIPT)}</script>
</body>
</html>
`
  return { html: page.text, policy: policyOf() }
}

function policyOf(): string {
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`
  const rules = [
    "default-src 'none'",
    `style-src ${hash(STYLE)}`,
    `script-src ${hash(SCRIPT)}`,
    ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ]
  return rules.join("; ")
}

function operationsIn(description: JsonObject): DocumentedOperation[] {
  return Object.entries(memberOf(description, "paths")).flatMap(([path, methods]) =>
    Object.entries(isObject(methods) ? methods : {}).map(([method, operation]) => {
      return { method: method.toUpperCase(), path, operation: isObject(operation) ? operation : {} }
    }),
  )
}

function renderSection(tag: string, operations: readonly DocumentedOperation[]): HtmlFragment {
  return html`<section>
<h2>${tag}</h2>
${joinHtml(operations.map(operationItem))}
</section>
`
}

function operationItem({ method, path, operation }: DocumentedOperation): HtmlFragment {
  const { url } = memberOf(operation, "externalDocs")
  const spellings = listIn(operation, "x-spellings")
  return html`<details id="${textIn(operation, "operationId")}">
<summary><b>${method}</b> ${codeTag(path)} <span>${markdown(textIn(operation, "summary"), "inline")}</span></summary>
<p>${listIn(operation, "security").length === 0 ? "No key required." : "Requires an API key."}${
    typeof url === "string" ? html` <a href="${url}" rel="noreferrer">Vendor documentation</a>` : ""
  }</p>
${spellings.length > 0 ? html`<p>Also at ${joinHtml(spellings.map((each) => html`${codeTag(String(each))} `))}</p>` : ""}
${parametersTable(listIn(operation, "parameters"))}
${bodyOf(memberOf(operation, "requestBody"))}
${responsesTable(memberOf(operation, "responses"))}
</details>
`
}

function parametersTable(parameters: readonly Json[]): HtmlFragment {
  if (parameters.length === 0) return joinHtml([])
  const rows = parameters.filter(isObject).map(
    (each) => html`<tr><td>${codeTag(textIn(each, "name"))}</td><td>${textIn(each, "in")}${
      each.required === true ? ", required" : ""
    }</td><td>${markdown(textIn(each, "description"), "inline")}</td></tr>
`,
  )
  return html`<h3>Parameters</h3>
<table>${joinHtml(rows)}</table>`
}

function bodyOf(body: JsonObject): HtmlFragment {
  if (Object.keys(body).length === 0) return joinHtml([])
  return html`<h3>Body</h3>
${schemaLink(body)}${markdown(textIn(body, "description"))}`
}

function responsesTable(responses: JsonObject): HtmlFragment {
  const rows = Object.entries(responses).map(([status, response]) => {
    const shared = isObject(response) ? nameIn(response) : undefined
    const cells =
      shared === undefined ? responseCells(response) : html`<td colspan="3">${link("response", shared)}</td>`
    return html`<tr><td>${status}</td>${cells}</tr>
`
  })
  return html`<h3>Answers</h3>
<table>${joinHtml(rows)}</table>`
}

function responseCells(response: Json): HtmlFragment {
  const described = isObject(response) ? response : {}
  const media = Object.keys(memberOf(described, "content")).join(", ")
  const headers = Object.keys(memberOf(described, "headers")).map((name) => html`${codeTag(name)} `)
  return html`<td>${markdown(textIn(described, "description"))}</td><td>${media}</td><td>${joinHtml(headers)}</td>`
}

/** Answers that several operations give. */
function sharedResponses(description: JsonObject): HtmlFragment {
  const known = Object.entries(memberOf(memberOf(description, "components"), "responses"))
  if (known.length === 0) return joinHtml([])
  const items = known.map(
    ([name, response]) => html`<details id="response-${name}">
<summary>${codeTag(name)}</summary>
${schemaLink(isObject(response) ? response : {})}
<table><tr>${responseCells(response)}</tr></table>
</details>
`,
  )
  return html`<section>
<h2>Errors</h2>
${joinHtml(items)}
</section>
`
}

function renderSchemas(description: JsonObject): HtmlFragment {
  const known = Object.entries(memberOf(memberOf(description, "components"), "schemas"))
  if (known.length === 0) return joinHtml([])
  const items = known.map(
    ([name, schema]) => html`<details id="schema-${name}">
<summary>${codeTag(name)}</summary>
${markdown(textIn(isObject(schema) ? schema : {}, "description"))}
<table>${schemaRows(schema)}</table>
</details>
`,
  )
  return html`<section>
<h2>Schemas</h2>
<p>Members that are not listed belong to the vendor's protocol and are passed on, unless the schema allows no others.</p>
${joinHtml(items)}
</section>`
}

/** What a body is, where its schema has a name. */
function schemaLink(body: JsonObject): HtmlFragment {
  const name = nameIn(memberOf(memberOf(memberOf(body, "content"), "application/json"), "schema"))
  return name === undefined ? joinHtml([]) : html`<p>${link("schema", name)}</p>`
}

function link(kind: "schema" | "response", name: string): HtmlFragment {
  return html`<a href="#${kind}-${name}">${name}</a>`
}

/** What a reference leads to. */
function nameIn({ $ref }: JsonObject): string | undefined {
  return typeof $ref === "string" ? $ref.split("/").at(-1) : undefined
}

function memberOf(holder: JsonObject, name: string): JsonObject {
  const value = holder[name]
  return isObject(value) ? value : {}
}

function listIn(holder: JsonObject, name: string): readonly Json[] {
  const value = holder[name]
  return Array.isArray(value) ? value : []
}

function textIn(holder: JsonObject, name: string): string {
  const value = holder[name]
  return typeof value === "string" ? value : ""
}
