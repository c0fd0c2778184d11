// aider, over chat completions. It has no tools: the model writes the change into its answer.
import { modelOf } from "../conformance/axes.ts"
import type { CodingAgent } from "./agent.ts"
import { ANSWER, FILES, MENDED } from "./task.ts"

export const aider: CodingAgent = {
  name: "aider",
  version: "0.86.2",
  source: { pip: "aider-chat", command: "aider" },
  models: [
    { id: modelOf("anthropic-messages"), upstream: "anthropic-messages" },
    { id: modelOf("gemini-generate"), upstream: "gemini-generate" },
  ],
  command: ({ gateway, key, model, prompt }) => ({
    words: [
      ...["--model", `openai/${model}`, "--edit-format", "diff"],
      ...["--yes-always", "--no-auto-commits", "--no-check-update", "--no-show-model-warnings", "--analytics-disable"],
      ...["--message", prompt, "greeting.txt", "notes.txt"],
    ],
    environment: { OPENAI_API_BASE: gateway.openai, OPENAI_API_KEY: key, LITELLM_LOCAL_MODEL_COST_MAP: "True" },
  }),
  steps: () => [],
  reply: `${ANSWER}

greeting.txt
\`\`\`
<<<<<<< SEARCH
${FILES["greeting.txt"]}=======
${MENDED.content}>>>>>>> REPLACE
\`\`\`
`,
}
