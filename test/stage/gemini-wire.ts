// Answers as Google's generateContent writes them, whole and streamed, for the scripted upstream.

const TAIL = { modelVersion: "upstream-model-001", responseId: "mOsAaf3xBL2jvdIP0u2j0Ag" }

/** One response: a whole answer, or one piece of it. */
export function geminiResponse(text: string, finishReason?: string): Record<string, unknown> {
  const content = { parts: [{ text }], role: "model" }
  return {
    candidates: [{ content, ...(finishReason && { finishReason }), index: 0 }],
    usageMetadata: {
      promptTokenCount: 9,
      candidatesTokenCount: 3,
      totalTokenCount: 12,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: 9 }],
    },
    ...TAIL,
  }
}

export function geminiEvent(body: unknown): string {
  return `data: ${JSON.stringify(body)}\r\n\r\n`
}

/** The events of a whole streamed answer, a word each. */
export function geminiWords(text: string): string[] {
  const words = text.match(/\s*\S+/g) ?? []
  return words.map((word, index) => geminiEvent(geminiResponse(word, index === words.length - 1 ? "STOP" : undefined)))
}

/** `geminiWords` without the finish. */
export function geminiHalf(text: string): string[] {
  const words = text.match(/\s*\S+/g) ?? []
  return words.map((word) => geminiEvent(geminiResponse(word)))
}
