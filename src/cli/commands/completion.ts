// trivium completion: prints a shell completion script generated from the commands.
import { Argument, Command } from "commander"
import { print } from "../print.ts"

const SHELLS = ["bash", "zsh", "fish"] as const

/** The words after a command, such as `keys create`; the program itself is "". */
interface CompletedCommand {
  readonly path: string
  readonly words: readonly string[]
}

export function completionCommand(program: Command): Command {
  return new Command("completion")
    .description("print a completion script for bash, zsh or fish")
    .addArgument(new Argument("<shell>", "shell to generate the script for").choices(SHELLS))
    .addHelpText(
      "after",
      "\nbash: source <(trivium completion bash)\nzsh: source <(trivium completion zsh)\nfish: trivium completion fish | source",
    )
    .action((shell: (typeof SHELLS)[number]) => {
      const commands = completedCommands(program)
      print(shell === "fish" ? fishScript(commands) : bashScript(commands, shell))
    })
}

function completedCommands(command: Command, path: readonly string[] = []): CompletedCommand[] {
  const flags = command.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []))
  const names = command.commands.map((each) => each.name())
  const own = { path: path.join(" "), words: [...names, ...flags, "--help"] }
  return [own, ...command.commands.flatMap((each) => completedCommands(each, [...path, each.name()]))]
}

/** The words are command and flag names, which need no shell quoting. */
function bashScript(commands: readonly CompletedCommand[], shell: "bash" | "zsh"): string {
  const cases = commands.map(({ path, words }) => `    "${path}") words="${words.join(" ")}" ;;`)
  const known = commands.filter(({ path }) => path !== "").map(({ path }) => `"${path}"`)
  return [
    ...(shell === "zsh" ? ["autoload -U +X bashcompinit && bashcompinit"] : []),
    "_trivium() {",
    '  local path="" next words="" at=1',
    '  while [ "$at" -lt "$COMP_CWORD" ]; do',
    `    next="\${path:+$path }\${COMP_WORDS[at]}"`,
    `    case "$next" in ${known.join("|")}) path="$next" ;; esac`,
    "    at=$((at + 1))",
    "  done",
    '  case "$path" in',
    ...cases,
    "  esac",
    `  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    "}",
    "complete -o default -F _trivium trivium",
  ].join("\n")
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ path, words }) => {
    const [command, ...subcommands] = path.split(" ")
    const seen = path === "" ? "__fish_use_subcommand" : `__fish_seen_subcommand_from ${command}`
    const further = subcommands.map((each) => `; and __fish_seen_subcommand_from ${each}`).join("")
    return words.map((word) => {
      const flag = word.startsWith("--") ? `-l ${word.slice(2)}` : `-f -a ${word}`
      return `complete -c trivium -n "${seen}${further}" ${flag}`
    })
  })
  return lines.join("\n")
}
