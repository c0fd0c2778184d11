// All problems of a configuration in one error, so that an operator can fix them at once.

export interface ConfigFileProblem {
  /** The path of the setting: `models[0].targets[1].provider`, or the flag or variable. */
  readonly path: string
  readonly line?: number
  readonly column?: number
  /** Never holds a credential. */
  readonly message: string
}

export class ConfigError extends Error {
  override readonly name = "ConfigError"
  readonly problems: readonly ConfigFileProblem[]

  /** `file` is the configuration file's name, printed before a line number. */
  constructor(problems: readonly ConfigFileProblem[], file: string) {
    const sorted = [...problems].sort((one, other) => problemOrder(one) - problemOrder(other))
    super(sorted.map((problem) => describeProblem(problem, file)).join("\n"))
    this.problems = sorted
  }
}

/** Problems without a line come first; the columns of one line stay in order. */
function problemOrder({ line = 0, column = 0 }: ConfigFileProblem): number {
  return line * 1e6 + Math.min(column, 1e6 - 1)
}

function describeProblem({ path, line, column, message }: ConfigFileProblem, file: string): string {
  const location = line === undefined ? [] : [`${file}:${line}:${column ?? 1}`]
  return `${[...location, ...(path === "" ? [] : [path])].join(" ")}: ${message}`
}
