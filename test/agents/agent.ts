// The description of a coding agent: its package, how it is pointed at the gateway, and the calls of its tools.
import type { GatewayAddress } from "../matrix/clients/client.ts"
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
  /** What has to be run once before, such as signing in. */
  setup?(pointed: AgentConnection): AgentCommand
  command(pointed: AgentConnection): AgentCommand
  /** What a model calls to do the task in this folder. */
  steps(folder: string, model: AgentModel): ToolSteps
  /** The model's last answer, of an agent that takes its edits from the text. */
  readonly reply?: string
}

/** Where an agent comes from: a file below npm's packages that Node runs, or that runs by itself, or a Python package. */
type AgentSource =
  | { readonly npm: string; readonly entry: string; readonly isNative?: true }
  /** A library is run by a script of ours, which is given the path of the entry. */
  | { readonly npm: string; readonly entry: string; readonly script: string }
  | { readonly pip: string; readonly command: string }
  | { readonly pip: string; readonly script: string }

export interface AgentModel {
  /** As the agent is told it. */
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
