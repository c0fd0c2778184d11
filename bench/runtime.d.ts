// The launcher's module is plain JavaScript; this is what TypeScript uses of it.
declare module "*/bin/runtime.mjs" {
  export function findBun(): string
  export const isolation: string[]
  export const environment: Record<string, string>
}
