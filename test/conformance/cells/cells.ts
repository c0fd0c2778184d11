// The cell function of each feature.
import type { MatrixFeature } from "../axes.ts"
import type { MatrixCell } from "../cell.ts"
import {
  cacheMarks,
  documentIn,
  imageIn,
  jsonSchema,
  reasoning,
  reasoningOverTurns,
  sealsBehindText,
} from "./beyond-text.ts"
import { lengthFinish, midStreamError, multiTurn, refusal, stopSequence, stream, text, usage } from "./plain.ts"
import { itemReferences, remoteServers, searchResults } from "./protocol-extras.ts"
import { forcedTool, parallelTools, toolError, toolResultWithImage, tools } from "./tools.ts"

export const cells: Readonly<Record<MatrixFeature, (cell: MatrixCell) => Promise<void>>> = {
  text,
  stream,
  "multi-turn": multiTurn,
  tools,
  "parallel tools": parallelTools,
  "forced tool": forcedTool,
  "tool result with image": toolResultWithImage,
  "tool error": toolError,
  "image in": imageIn,
  "document in": documentIn,
  "JSON schema": jsonSchema,
  reasoning,
  "reasoning with tools over turns": reasoningOverTurns,
  "seals behind text": sealsBehindText,
  "cache marks": cacheMarks,
  "stop sequence": stopSequence,
  usage,
  "length finish": lengthFinish,
  refusal,
  "mid-stream error": midStreamError,
  "item references": itemReferences,
  "search results": searchResults,
  "remote MCP": remoteServers,
}
