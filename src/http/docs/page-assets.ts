// Style and search script of the documentation page, inlined so that its content security policy can allow exactly these.

export const STYLE = `
:root { color-scheme: light dark; --line: #d4d4d8; --quiet: #52525b; --paper: #fff; --ink: #18181b; --mark: #1d4ed8; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3f3f46; --quiet: #a1a1aa; --paper: #18181b; --ink: #f4f4f5; --mark: #93c5fd; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 64rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 small { color: var(--quiet); font-weight: normal; font-size: 1rem; }
h2 { margin-top: 2rem; font-size: 1.25rem; }
h3 { margin: 1rem 0 .25rem; font-size: 1rem; }
a { color: var(--mark); }
code { font: .875rem ui-monospace, monospace; overflow-wrap: anywhere; }
details { border-top: 1px solid var(--line); padding: .5rem 0; }
summary { cursor: pointer; }
summary b { display: inline-block; min-width: 4.5rem; font: bold .875rem ui-monospace, monospace; color: var(--mark); }
summary span { display: block; padding-left: 1rem; color: var(--quiet); }
table { width: 100%; border-collapse: collapse; font-size: .9375rem; }
td { border-top: 1px solid var(--line); padding: .25rem .75rem .25rem 0; vertical-align: top; }
td p { margin: 0 0 .25rem; }
input { width: 100%; padding: .5rem; border: 1px solid var(--line); border-radius: .25rem; background: inherit; color: inherit; font: inherit; }
[hidden] { display: none !important; }
`

/** Shows what holds every word that is searched for, and opens what a link leads to. */
export const SCRIPT = `
const label = document.getElementById("search")
const items = [...document.querySelectorAll("details")].map((item) => ({ item, text: item.textContent.toLowerCase() }))
label.hidden = false
label.querySelector("input").addEventListener("input", ({ target }) => {
  const words = target.value.toLowerCase().split(/\\s+/)
  for (const { item, text } of items) item.hidden = !words.every((word) => text.includes(word))
  for (const section of document.querySelectorAll("section")) section.hidden = !section.querySelector("details:not([hidden])")
})
const open = () => {
  const item = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (!item || item.tagName !== "DETAILS") return
  item.open = true
  item.scrollIntoView()
}
addEventListener("hashchange", open)
open()
`
