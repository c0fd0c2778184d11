// Checks the grammar of a messages stream and returns its violations.
import { isObject, type JsonObject } from "../../../../canonical/json.ts"
import { decodeByteText } from "../../../../transport/json/byte-text.ts"
import { decodeSse } from "../../../../transport/streams/sse.ts"

/** Which deltas each kind of block may grow by. */
const GROWS: Readonly<Record<string, readonly string[]>> = {
  text: ["text_delta", "citations_delta"],
  thinking: ["thinking_delta", "signature_delta"],
  tool_use: ["input_json_delta"],
  server_tool_use: ["input_json_delta"],
  mcp_tool_use: ["input_json_delta"],
}

export function grammarFaults(text: string): string[] {
  const faults: string[] = []
  const sse = decodeSse()
  let state: "before" | "between" | "inside" | "closing" | "after" = "before"
  let index = 0
  let block: JsonObject = {}
  let signed = false
  const expect = (holds: boolean, fault: string) => {
    if (!holds) faults.push(fault)
  }
  for (const { event, data } of [...sse.push(text), ...sse.finish()]) {
    const payload: unknown = JSON.parse(decodeByteText(data ?? "null"))
    if (!isObject(payload)) return [...faults, "a frame without an object"]
    const { type } = payload
    expect(event === type, `${event} says ${type}`)
    if (type === "ping") continue
    const at = `${type} ${state}`
    if (type === "message_start") {
      expect(state === "before", at)
      state = "between"
    } else if (type === "content_block_start") {
      expect(state === "between" && payload.index === index, at)
      block = isObject(payload.content_block) ? payload.content_block : {}
      expect(typeof block.type === "string", "a block without a type")
      signed = false
      state = "inside"
    } else if (type === "content_block_delta") {
      expect(state === "inside" && payload.index === index, at)
      const delta = isObject(payload.delta) ? payload.delta : {}
      const grows = GROWS[String(block.type)] ?? []
      expect(grows.includes(String(delta.type)), `${block.type} grows by ${delta.type}`)
      expect(!signed, "a delta behind a signature")
      signed = delta.type === "signature_delta"
    } else if (type === "content_block_stop") {
      expect(state === "inside" && payload.index === index, at)
      index++
      state = "between"
    } else if (type === "message_delta") {
      expect(state === "between", at)
      expect(isObject(payload.delta) && isObject(payload.usage), "a message_delta without delta and usage")
      state = "closing"
    } else if (type === "message_stop") {
      expect(state === "closing", at)
      state = "after"
    } else faults.push(`unknown event ${type}`)
  }
  expect(state === "after", `ends ${state}`)
  return faults
}
