import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { decodeSse, encodeSse, type SseFrame, SseLimitError, withData } from "./sse.ts"

function decode(pieces: readonly string[]): SseFrame[] {
  const step = decodeSse()
  return [...pieces.flatMap((piece) => step.push(piece)), ...step.finish()]
}

const dataFrames = (frames: readonly SseFrame[]) =>
  frames.filter(({ data }) => data !== undefined).map(({ event, data }) => ({ event, data }))

/** The events of a text by the standard: line by line, an event at each blank line. */
function decodeByStandard(text: string): { event: string | undefined; data: string | undefined }[] {
  const events: { event: string | undefined; data: string | undefined }[] = []
  let event: string | undefined
  let data: string | undefined
  for (const line of [...text.split(/\r\n|\n|\r/), ""]) {
    const [, name = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? []
    if (name === "event") event = value
    else if (name === "data") data = data === undefined ? value : `${data}\n${value}`
    if (line !== "") continue
    if (data !== undefined) events.push({ event, data })
    event = undefined
    data = undefined
  }
  return events
}

describe("frames", () => {
  test("frames are read with LF, CR, CRLF and any mix of them", () => {
    for (const end of ["\n", "\r", "\r\n"]) {
      const text = ["event: a", "data: 1", "", ": comment", "", "data: 2", "data:3", "", ""].join(end)
      expect(dataFrames(decode([text]))).toEqual([
        { event: "a", data: "1" },
        { event: undefined, data: "2\n3" },
      ])
    }
    expect(dataFrames(decode(["data: 1\n\r\ndata: 2\r\n\ndata: 3\r\r"]))).toEqual([
      { event: undefined, data: "1" },
      { event: undefined, data: "2" },
      { event: undefined, data: "3" },
    ])
  })

  test("frames after a byte order mark are read, and the mark passes", () => {
    const frames = decode(["\xef\xbb\xbfdata: 1\n\ndata: 2\n\n"])
    expect(frames.map(({ data }) => data)).toEqual(["1", "2"])
    expect(frames[0]?.raw).toBe("\xef\xbb\xbfdata: 1\n\n")
  })

  test("frames may lack their final line ends", () => {
    expect(dataFrames(decode(["data: 1\n\ndata: 2"]))).toEqual([
      { event: undefined, data: "1" },
      { event: undefined, data: "2" },
    ])
    expect(decode(["data: 1\n\n\n"])).toHaveLength(1)
  })

  test("frames interpret field names as the standard does", () => {
    expect(dataFrames(decode(["data\n\n"]))).toEqual([{ event: undefined, data: "" }])
    expect(dataFrames(decode(["datax: 1\nid: 2\ndata:  3\n\n"]))).toEqual([{ event: undefined, data: " 3" }])
  })

  test("frames are the same at any cut of the bytes", () => {
    const text = "\xef\xbb\xbf: hi\r\n\r\nevent: a\rdata: {}\r\rdata: x\ndata: y\n\nid: 7\ndata: z\r\n\r\n\ndata: end"
    const whole = dataFrames(decode([text]))
    const raw = decode([text]).map((frame) => frame.raw)
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second++) {
        const frames = decode([text.slice(0, first), text.slice(first, second), text.slice(second)])
        expect(dataFrames(frames)).toEqual(whole)
        expect(frames.map((frame) => frame.raw)).toEqual(raw)
      }
    }
  })

  test("frames lose no byte of any input", () => {
    const hostile = fc.string({ unit: fc.constantFrom("\r", "\n", "d", "a", "t", ":", " ", "\x00", "\xff", "data: ") })
    fc.assert(
      fc.property(fc.array(hostile), (pieces) => {
        const step = decodeSse()
        const passed = pieces.flatMap((piece) => step.push(piece)).map(({ raw }) => raw)
        const rest = step.finish().map(({ raw }) => raw)
        const all = [...passed, ...rest].join("")
        const sent = pieces.join("")
        expect(all === sent || all === `${sent}\n\n` || (rest.length === 0 && sent.startsWith(all))).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })

  test.each(["\n", "\r", "\r\n"])("frames without data are joined, with line ends %j", (end) => {
    const quiet = [": comment", "", "", ":", "event: x", "", "id: 7", "retry: 1", "", ""].join(end).repeat(100)
    const frames = decode([`data: 1${end}${end}${quiet}data: 2${end}${end}`])
    expect(dataFrames(frames)).toEqual([
      { event: undefined, data: "1" },
      { event: undefined, data: "2" },
    ])
    expect(frames.length).toBeLessThanOrEqual(4)
    expect(frames.map(({ raw }) => raw).join("")).toBe(`data: 1${end}${end}${quiet}data: 2${end}${end}`)
  })

  test("frames with data are the same with or without empty ones between them, at any cut", () => {
    const end = fc.constantFrom("\n", "\r", "\r\n")
    const line = fc.constantFrom(":", ": c", "data: x", "data:", "event: e", "id: 1", "", "", "{bare", "ddata: z")
    const lines = fc.array(fc.tuple(line, end), { maxLength: 30 })
    fc.assert(
      fc.property(lines, fc.array(fc.nat(200)), (lines, cuts) => {
        const text = lines.map(([line, end]) => line + end).join("")
        const places = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length]
        const pieces = places.slice(1).map((to, index) => text.slice(places[index], to))
        expect(dataFrames(decode(pieces))).toEqual(decodeByStandard(text))
      }),
      { numRuns: 2000 },
    )
  })

  test("frames with more lines than any event has are rejected", () => {
    expect(() => decode([`${"data: x\n".repeat(20_000)}\n`])).toThrow(SseLimitError)
    expect(() => decode([`${"x\r".repeat(20_000)}\r`, "data: x\n"])).toThrow(SseLimitError)
    expect(dataFrames(decode([`${"data: x\n".repeat(10_000)}\n`]))).toHaveLength(1)
  })

  test("endless frames are rejected instead of buffered", () => {
    const step = decodeSse(1000)
    expect(() => {
      for (let i = 0; i < 20; i++) step.push("x".repeat(100))
    }).toThrow(SseLimitError)
  })
})

describe("replaced data of a frame", () => {
  const frame = (text: string): SseFrame => {
    const [first] = decode([text])
    if (!first) throw new Error("no frame")
    return first
  }

  test("replaced data of a frame leaves its other lines unchanged", () => {
    expect(withData(frame("event: 1\r\ndata: 1\r\nid: 1\r\n\r\n"), "2")).toBe("event: 1\r\ndata: 2\r\nid: 1\r\n\r\n")
    expect(withData(frame("data:1\n\n"), "2")).toBe("data:2\n\n")
  })

  test("replaced data of a frame is written on as many lines as it has", () => {
    expect(withData(frame("id: 1\ndata: a\ndata: b\n\n"), "c\nd")).toBe("id: 1\ndata: c\ndata: d\n\n")
  })

  test("replaced data of a frame keeps a byte order mark and fields whose names only begin like data", () => {
    expect(withData(frame("\xef\xbb\xbfdata: a\ndata: b\ndatax: 1\n\n"), "c")).toBe("\xef\xbb\xbfdatax: 1\ndata: c\n\n")
  })

  test("replaced data that equals the old leaves the frame unchanged", () => {
    expect(withData(frame("data: a\ndata: b\r\n\n"), "a\nb")).toBe("data: a\ndata: b\r\n\n")
  })
})

test("an encoded frame is decoded to the same data", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[ -~\n]*$/), fc.option(fc.stringMatching(/^[a-z]+$/)), (data, event) => {
      const text = encodeSse({ data, ...(event && { event }) })
      expect(dataFrames(decode([text]))).toEqual([{ event: event ?? undefined, data }])
    }),
  )
})
