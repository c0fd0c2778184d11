// The startup message of `serve`: addresses, demo mode, and on the first start an API key with an example.

export interface WelcomeDetails {
  readonly url: string
  readonly adminUrl: string
  readonly isDemo: boolean
  readonly modelCount: number
  /** A model the key can call; absent if no provider serves one. */
  readonly exampleModel?: string | undefined
  /** The key created at this start, if any. */
  readonly firstKey?: string | undefined
  /** Hosts whose models are not known yet. */
  readonly undiscovered: readonly { readonly provider: string; readonly address: string }[]
}

export function welcomeMessage(given: WelcomeDetails): string {
  const { url, adminUrl, isDemo, modelCount, exampleModel, firstKey, undiscovered } = given
  const lines: string[] = []
  if (isDemo) {
    lines.push(
      `Demo mode: no provider credential is configured, so a built-in simulator answers for all ${modelCount} models.`,
      "Set OPENAI_API_KEY (or another provider's variable), or write trivium.yaml, to use real models.",
      "",
    )
  }
  if (firstKey) {
    lines.push("This is your first API key. It is shown only once:", "", `  ${firstKey}`, "")
  }
  if (firstKey && exampleModel) {
    lines.push(
      "Try it:",
      "",
      `  curl ${url}/v1/chat/completions \\`,
      `    -H "Authorization: Bearer ${firstKey}" \\`,
      `    -H "Content-Type: application/json" \\`,
      `    -d '{"model": "${exampleModel}", "messages": [{"role": "user", "content": "Hello!"}]}'`,
      "",
    )
  }
  if (!firstKey && isDemo)
    lines.push("The first API key was shown at the first start. To create another: trivium keys create --name NAME", "")
  if (undiscovered.length > 0) {
    const hosts = undiscovered.map(({ provider, address }) => `${provider} (${address})`)
    lines.push(`Discovering the models of ${hosts.join(", ")}. To list them: trivium models`, "")
  } else if (!exampleModel) {
    lines.push(
      "No chat model can be called: the configured providers serve no chat model that is known and has a price.",
      "List their models under `models` in trivium.yaml, then run: trivium check",
      "",
    )
  }
  lines.push(`administration on ${adminUrl}`, `listening on ${url}`)
  return lines.join("\n")
}
