// What the runs know of a coding agent: where it comes from, how it is pointed at the gateway, how its tools are called.
import type { GatewayAddress } from "../matrix/clients/client.ts"
import type { ModelProtocol } from "./scripted-model.ts"
import type { Steps } from "./task.ts"

export interface Agent {
  readonly name: string
  readonly package: string
  readonly version: string
  /** The file of the package that Node runs. */
  readonly entry: string
  /** The models it is run with, each at an upstream of another protocol than its own. */
  readonly models: readonly AgentModel[]
  /** Settings it can be given in no other way, by their path in the home folder. */
  readonly homeFiles: Readonly<Record<string, string>>
  command(pointed: Pointed): Command
  /** What a model calls to do the task in this folder. */
  steps(folder: string, model: AgentModel): Steps
}

export interface AgentModel {
  /** As the agent is told it. */
  readonly id: string
  readonly upstream: ModelProtocol
}

interface Pointed {
  readonly gateway: GatewayAddress
  readonly key: string
  readonly model: string
  readonly prompt: string
}

export interface Command {
  readonly words: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}
