// The JSON Schema of trivium.yaml, from the shapes that read the file.
import type { JsonObject } from "../canonical/json.ts"
import { openDocument } from "./config-document.ts"
import { fileSchema } from "./file-schema.ts"
import { createProviderReader, type KnownProvider } from "./provider-schema.ts"

export function configJsonSchema(knownProviders: readonly KnownProvider[]): JsonObject {
  const context = { environment: {}, problems: [], workingDir: "", files: [] }
  const { entry } = createProviderReader({ ...context, knownProviders })
  const root = openDocument("", context)
  const { jsonSchema } = fileSchema(root, { ...context, provider: entry, knownProviders: [], knownModels: [] })
  return { $schema: "https://json-schema.org/draft/2020-12/schema", title: "trivium.yaml", ...jsonSchema }
}
