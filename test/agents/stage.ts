// The stage of the agents: a scripted model for each protocol behind a gateway.
import { modelOf } from "../conformance/axes.ts"
import { gatewayConfig, SERVED } from "../conformance/gateway-config.ts"
import { RunningGateway } from "../stage/gateway.ts"
import type { AgentModel } from "./agent.ts"
import { type ModelProtocol, ScriptedModel } from "./scripted-model.ts"

export interface AgentStage {
  readonly gateway: RunningGateway
  readonly upstreams: Readonly<Record<ModelProtocol, ScriptedModel>>
  stop(): Promise<void>
}

export async function startStage(models: readonly AgentModel[]): Promise<AgentStage> {
  const upstreams = {
    "openai-chat": await ScriptedModel.start("openai-chat"),
    "anthropic-messages": await ScriptedModel.start("anthropic-messages"),
    "gemini-generate": await ScriptedModel.start("gemini-generate"),
  }
  const origins = Object.fromEntries(Object.entries(upstreams).map(([protocol, { origin }]) => [protocol, origin]))
  const gateway = await RunningGateway.start({ config: gatewayConfig(origins) + models.map(entryOf).join("") })
  return {
    gateway,
    upstreams,
    async stop() {
      await gateway.stop()
      for (const upstream of Object.values(upstreams)) await upstream.stop()
    },
  }
}

/** A model under a name of the agent's; the usual ones are there already. */
function entryOf({ id, upstream }: AgentModel): string {
  if (id === modelOf(upstream)) return ""
  return `  - id: ${id}
    context_window: 200000
    max_output_tokens: 64000
    capabilities: [tools, reasoning]
    pricing: { input: "1", output: "2" }
    targets: [{ provider: at-${upstream}, model: "${SERVED[upstream].model}" }]
`
}
