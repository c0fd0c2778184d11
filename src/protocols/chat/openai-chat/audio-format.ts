// What spoken answers come in: the one format that is also streamed.
import { audioType } from "../../openai/openai-media.ts"

export const OUTPUT_AUDIO = { format: "pcm16", mediaType: audioType("pcm16") } as const
