// The description of a coding agent: its package, how it is pointed at the gateway, and the calls of its tools.
import type { GatewayAddress } from "../conformance/clients/client.ts"
import type { ModelProtocol } from "./scripted-model.ts"
import type { ToolSteps } from "./task.ts"

export interface CodingAgent {
  readonly name: string
  readonly version: string
  readonly source: AgentSource
  /** The models it is run with, each at an upstream of another protocol than its own. */
  readonly models: readonly AgentModel[]
  /** Settings it can be given in no other way, by their path in the home folder. */
  homeFiles?(pointed: AgentConnection): Readonly<Record<string, string>>
  /** Commands to run once before, such as signing in. */
  setup?(pointed: AgentConnection): AgentCommand
  command(pointed: AgentConnection): AgentCommand
  /** The model's tool calls for the task in this folder. */
  steps(folder: string, model: AgentModel): ToolSteps
  /** The model's last answer, of an agent that takes its edits from the text. */
  readonly reply?: string
}

/** The source of an agent: a file below npm's packages, run by Node or by itself, or a Python package. */
type AgentSource =
  | { readonly npm: string; readonly entry: string; readonly isNative?: true }
  /** A library is run by a script of ours, which is given the path of the entry. */
  | { readonly npm: string; readonly entry: string; readonly script: string }
  | { readonly pip: string; readonly command: string }
  | { readonly pip: string; readonly script: string }

export interface AgentModel {
  /** The model's name for the agent. */
  readonly id: string
  readonly upstream: ModelProtocol
}

export interface AgentConnection {
  readonly gateway: GatewayAddress
  readonly key: string
  readonly model: string
  readonly prompt: string
}

export interface AgentCommand {
  readonly words: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}
