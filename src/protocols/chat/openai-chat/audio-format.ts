// The format of audio output: the only one that can also be streamed.
import { audioType } from "../../openai/openai-media.ts"

export const OUTPUT_AUDIO = { format: "pcm16", mediaType: audioType("pcm16") } as const
