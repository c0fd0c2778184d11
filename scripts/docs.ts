// Writes the generated parts of docs/: npm run docs. A test fails if they are out of date.
import { writeFileSync } from "node:fs"
import { errorsPage, providersPage } from "./docs-pages.ts"
import { fidelityPage } from "./fidelity-page.ts"
import { specificationPage } from "./specification-page.ts"

writeFileSync(new URL("../docs/errors.md", import.meta.url), errorsPage())
writeFileSync(new URL("../docs/fidelity.md", import.meta.url), fidelityPage())
writeFileSync(new URL("../docs/providers.md", import.meta.url), providersPage())
writeFileSync(new URL("../docs/specification.md", import.meta.url), specificationPage())
