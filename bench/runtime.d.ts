// The launcher's module is plain JavaScript; this is what the benchmark uses of it.
declare module "*/bin/runtime.mjs" {
  export function findBun(): string
  export const isolation: string[]
  export const environment: Record<string, string>
}
