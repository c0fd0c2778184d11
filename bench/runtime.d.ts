// The launcher's modules are plain JavaScript; this is what TypeScript uses of them.
declare module "*/bin/runtime.mjs" {
  export function findBun(): string
  export const isolation: string[]
  export const environment: Record<string, string>
}
declare module "*/bin/supervisor.mjs" {
  interface SupervisedExit {
    readonly code: number | null
    readonly signal: string | null
  }
  interface SupervisorOptions {
    start(onExit: (exit: SupervisedExit) => void): { kill(signal: string): void; hasServed(): boolean }
    end(exit: SupervisedExit): void
    report(crash: { readonly reason: string; readonly waitMs: number }): void
    now?(): number
    later?(act: () => void, ms: number): unknown
    earlier?(timer: unknown): void
  }
  export class Supervisor {
    constructor(options: SupervisorOptions)
    run(): void
    stop(signal: string): void
  }
}
