// For the tests of this folder: a model with only the members that matter, and a file of models to break.
import type { CatalogModel, TargetRow } from "./catalog.ts"

export function model(id: string, rest: Partial<CatalogModel> = {}): CatalogModel {
  return {
    id,
    displayName: id,
    version: "1",
    kind: "chat",
    status: "active",
    created: 0,
    modalities: { input: ["text"], output: ["text"] },
    capabilities: [],
    aliases: [],
    reasoning: false,
    targets: [],
    ...rest,
  }
}

export function target(provider: string, name: string, rest: Partial<TargetRow> = {}): TargetRow {
  return { provider, model: name, priority: 1, weight: 1, ...rest }
}

/** An entry as in a file; undefined members are left out. */
export function entry(rest: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const sound = {
    id: "acme/chat-1",
    display_name: "Chat 1",
    version: "1",
    kind: "chat",
    released: "2025-04",
    context_window: 1000,
    max_output_tokens: 100,
    modalities: { input: ["text"], output: ["text"] },
    quality: 50,
    pricing: { input: "1", output: "2.50" },
    targets: [{ provider: "acme", model: "chat-1" }],
  }
  return { ...sound, ...rest }
}

export function file(...models: unknown[]): unknown {
  return { author: "acme", also: ["acme-labs"], models }
}
