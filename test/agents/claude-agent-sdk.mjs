// Runs Claude's Agent SDK as a program of its users does: node claude-agent-sdk.mjs PATH_OF_THE_SDK MODEL PROMPT
import { pathToFileURL } from "node:url"

const [, , sdk, model, prompt] = process.argv
const { query } = await import(pathToFileURL(sdk))
for await (const message of query({ prompt, options: { model, permissionMode: "acceptEdits" } })) {
  if (message.type === "result") console.log(message.result)
}
