// HTML templates that escape every value that is not HTML already.

export interface HtmlFragment {
  readonly text: string
}

export function html(strings: TemplateStringsArray, ...values: readonly (HtmlFragment | string)[]): HtmlFragment {
  const text = strings.reduce((before, string, index) => before + renderValue(values[index - 1]) + string)
  return { text }
}

export function joinHtml(parts: readonly HtmlFragment[]): HtmlFragment {
  return { text: parts.map(({ text }) => text).join("") }
}

/** Text that is HTML already, or inside a style or script, which have no escapes. */
export function rawHtml(text: string): HtmlFragment {
  return { text }
}

export function codeTag(text: string): HtmlFragment {
  return html`<code>${text}</code>`
}

/** Of Markdown what descriptions have: paragraphs, and code between backticks. */
export function markdown(text: string, display: "block" | "inline" = "block"): HtmlFragment {
  const paragraphs = text.split(/\n{2,}/).filter((each) => each !== "")
  const blocks = paragraphs.map((each) =>
    joinHtml(each.split("`").map((part, at) => (at % 2 ? codeTag(part) : html`${part}`))),
  )
  return joinHtml(display === "inline" ? blocks : blocks.map((each) => html`<p>${each}</p>`))
}

function renderValue(value: HtmlFragment | string | undefined): string {
  if (value === undefined) return ""
  return typeof value === "string" ? value.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign) : value.text
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}
