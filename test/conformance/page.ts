// docs/conformance.md: the whole matrix, a table for each client protocol.
import { readFileSync } from "node:fs"
import { CLIENTS, type ClientProtocol, FEATURE_NAMES, isSupportedBy, UPSTREAMS } from "./axes.ts"
import type { CellResult } from "./run-cell.ts"

export const PAGE = new URL("../../docs/conformance.md", import.meta.url)

/** The installed versions are those of the clients' package file: it names them exactly. */
function libraries(): string {
  const { dependencies } = JSON.parse(readFileSync(new URL("../clients/package.json", import.meta.url), "utf8"))
  const names = ["openai", "@anthropic-ai/sdk", "@google/genai"]
  return names.map((name) => `\`${name}\` ${dependencies[name]}`).join(", ")
}

const SYMBOLS: Readonly<Record<CellResult["status"], string>> = {
  passes: "✓ passes",
  refused: "⊘ refused",
  fails: "✗ fails",
}

/** The same results give the same page. */
export function conformancePage(results: readonly CellResult[]): string {
  const notes = new PageFootnotes()
  const tables = CLIENTS.map((client) => tableOf(client, { results, notes }))
  const count = (status: CellResult["status"]) => results.filter((result) => result.status === status).length
  return `# Conformance

Written by \`npm run conformance\` after a whole run; do not edit.

Each client protocol is spoken by its official library, through a running gateway, with each upstream protocol. The
upstreams are scripted: they answer as the vendor writes it, and record what they receive. A cell looks at both ends: at
the library's own objects (text, calls with ids and arguments, finish, usage, reasoning, errors), and at the request as
the upstream's protocol reads it (instructions, turns, schemas, bytes of files, signatures, and the vendor's rules of
order). What comes whole and in streams is tried in both.

- ✓ both ends saw what was meant; a footnote says where it took another form. What was left out on the way is named in
  \`x-gateway-losses\`; of plain text, turns, tools, images and limits nothing is
- ⊘ the gateway refuses it with 400 \`unsupported_parameter\`, before the upstream is called, for the reason in the footnote
- ✗ the cell fails

Of ${results.length} cells ${count("passes")} pass, ${count("refused")} are refused as documented, and ${count("fails")} fail.

Libraries: ${libraries()}.

${tables.join("\n")}
${notes.text()}`
}

interface PageContent {
  readonly results: readonly CellResult[]
  readonly notes: PageFootnotes
}

function tableOf(client: ClientProtocol, { results, notes }: PageContent): string {
  const cellOf = (feature: string, upstream: string) => {
    const found = results.find(
      (result) => result.client === client && result.feature === feature && result.upstream === upstream,
    )
    return found ? [SYMBOLS[found.status], ...found.notes.map((note) => notes.mark(note))].join(" ") : ""
  }
  const rows = FEATURE_NAMES.filter((feature) => isSupportedBy(feature, client)).map(
    (feature) => `| ${feature} | ${UPSTREAMS.map((upstream) => cellOf(feature, upstream)).join(" | ")} |\n`,
  )
  const rule = `| --- |${UPSTREAMS.map(() => " --- |").join("")}\n`
  return `## A client of ${client}\n\n| to | ${UPSTREAMS.join(" | ")} |\n${rule}${rows.join("")}`
}

/** Footnotes, numbered as they come. */
class PageFootnotes {
  private readonly sentences: string[] = []

  mark(sentence: string): string {
    if (!this.sentences.includes(sentence)) this.sentences.push(sentence)
    return `(${this.sentences.indexOf(sentence) + 1})`
  }

  text(): string {
    return this.sentences.map((sentence, index) => `${index + 1}. ${sentence}\n`).join("")
  }
}
