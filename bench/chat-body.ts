// Request bodies as chat clients send them: several messages of prose and code, with escapes and more than ASCII.
import type { BenchProtocol } from "./protocols.ts"

const passages = [
  'The quarterly figures arrived late; "late", said Zoë, "is a word for trains". We kept the table as it was.\n',
  "Steps taken so far:\n\t1. read the log in C:\\service\\logs\n\t2. restart the worker\n\t3. wait — it came back after 4 s.\n",
  "Please compare the two drafts and keep the shorter one unless it drops a number, a name or a date.\n",
  "Das Gerät meldet „Überlast“, obwohl die Messung nur 3,2 µA zeigt; 温度は正常です。Could the sensor be wrong? 🤔\n",
  '```ts\nconst greeting = names.map((name) => "Hello, " + name).join("\\n")\nconsole.log(greeting)\n```\n',
  "In the old version every caller waited for the slowest answer, which nobody noticed until the traffic doubled.\n",
  'She wrote: "the path is \\"/var/lib/data\\", the owner is root", and the mail ended there. Naïve, but it worked.\n',
]

type ChatBodyOptions = { model: string; bytes: number; stream: boolean }

/** A request body of about `bytes` bytes. */
export function chatBody(wire: BenchProtocol, { model, bytes, stream }: ChatBodyOptions): string {
  const messages = [{ role: "system", content: "You are a careful assistant. Answer in the user's language." }]
  const messageBytes = Math.max(300, bytes / 20)
  let passage = 0
  for (let left = bytes - 250; left > 0; ) {
    let content = ""
    while (left > 0 && content.length < messageBytes) {
      const text = passages[passage++ % passages.length] ?? ""
      content += text
      left -= Buffer.byteLength(JSON.stringify(text)) - 2
    }
    messages.push({ role: messages.length % 2 === 1 ? "user" : "assistant", content })
    left -= 30
  }
  return JSON.stringify(wire.body({ model, stream, messages }))
}
