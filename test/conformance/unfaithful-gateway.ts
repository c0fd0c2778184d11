// A gateway that relays chat completions with one deliberate fault, which a cell must detect.
import { modelOf } from "./axes.ts"
import { CREDENTIAL, SERVED } from "./gateway-config.ts"
import { addressesAt, type MatrixStage, startHosts, stopHosts } from "./stage.ts"

const PROTOCOL = "openai-chat"

/** The changed text of the request, and of the answer. */
export interface GatewayTampering {
  changeRequest?(request: string): string
  answered?(answer: string): string
  /** Passes the caller's key on instead of its own. */
  readonly leaksKey?: true
  /** Takes a stream that breaks for one that ends. */
  readonly hidesBreaks?: true
}

export interface UnfaithfulStage extends MatrixStage {
  tampering: GatewayTampering
}

export async function startUnfaithfulStage(): Promise<UnfaithfulStage> {
  const hosts = await startHosts([PROTOCOL])
  const origin = hosts.get(PROTOCOL)?.origin ?? ""
  const server = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const { tampering } = stage
      const body = (await request.text()).replace(modelOf(PROTOCOL), SERVED[PROTOCOL].model)
      const authorization = tampering.leaksKey ? "Bearer key" : `Bearer ${CREDENTIAL.secretAccessKey}`
      const upstream = await fetch(`${origin}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization, "content-type": "application/json" },
        body: tampering.changeRequest?.(body) ?? body,
      })
      const { text, broke } = await received(upstream)
      const answer = text.replaceAll(/"model":"[^"]*"/g, `"model":"${modelOf(PROTOCOL)}"`)
      const whole = (tampering.answered?.(answer) ?? answer) + ending({ tampering, text, broke })
      return new Response(whole, { headers: { "content-type": upstream.headers.get("content-type") ?? "" } })
    },
  })
  const stage: UnfaithfulStage = {
    tampering: {},
    gateway: addressesAt(`http://127.0.0.1:${server.port}`),
    key: "key",
    hosts,
    async stop() {
      await server.stop(true)
      await stopHosts(hosts)
    },
  }
  return stage
}

async function received(response: Response): Promise<{ text: string; broke: boolean }> {
  const pieces: Uint8Array[] = []
  try {
    for await (const piece of response.body ?? []) pieces.push(piece)
    return { text: Buffer.concat(pieces).toString(), broke: false }
  } catch {
    return { text: Buffer.concat(pieces).toString(), broke: true }
  }
}

const FINISHED =
  'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

/** The end of a broken stream: an error, or as if complete. */
function ending({ tampering, text, broke }: { tampering: GatewayTampering; text: string; broke: boolean }): string {
  if (tampering.hidesBreaks) return broke || text.includes('{"error"') ? FINISHED : ""
  return broke ? 'data: {"error":{"message":"It broke off.","type":"server_error","param":null,"code":null}}\n\n' : ""
}
