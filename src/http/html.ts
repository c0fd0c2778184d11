// HTML from templates: whatever is put in is escaped unless it is HTML already.

export interface Html {
  readonly text: string
}

export function html(strings: TemplateStringsArray, ...values: readonly (Html | string)[]): Html {
  const text = strings.reduce((before, string, index) => before + written(values[index - 1]) + string)
  return { text }
}

export function joined(parts: readonly Html[]): Html {
  return { text: parts.map(({ text }) => text).join("") }
}

/** What is HTML already, or stands in a style or script, which know no escapes. */
export function plain(text: string): Html {
  return { text }
}

export function codeTag(text: string): Html {
  return html`<code>${text}</code>`
}

/** Of Markdown what descriptions have: paragraphs, and code between backticks. */
export function markdown(text: string, display: "block" | "inline" = "block"): Html {
  const paragraphs = text.split(/\n{2,}/).filter((each) => each !== "")
  const spoken = paragraphs.map((each) =>
    joined(each.split("`").map((part, at) => (at % 2 ? codeTag(part) : html`${part}`))),
  )
  return joined(display === "inline" ? spoken : spoken.map((each) => html`<p>${each}</p>`))
}

function written(value: Html | string | undefined): string {
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
