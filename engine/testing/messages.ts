/** Feeds bytes to the HTTP/1 parser as sockets do, cut at given places, and notes what comes out. */
import assert from 'node:assert/strict'
import { HeaderBlock } from '#engine/http/headers.ts'
import { llhttp, type REQUEST, type RESPONSE } from '#engine/http/llhttp.ts'
import { HEAD_OK, type Parser } from '#engine/http/llhttp-parser.ts'

/** Inputs are cut to this: beyond it the limits of size count, and those may see a cut. */
export const INPUT_BYTES_MAX = 12 * 1024

export interface Message {
  readonly target: string
  readonly status: number
  readonly version: string
  readonly keepAlive: boolean
  /** Flat: name, value, as a reader of the block sees them. */
  readonly fields: readonly string[]
  /** The block's lines as they would be forwarded. */
  readonly lines: string
  body: string
  trailers: string | null
}

export interface Outcome {
  readonly messages: Message[]
  /** 0, or the parser's fault. */
  fault: number
  /** Bytes taken by complete messages. */
  taken: number
}

/** Decides about a head, as the connections do; the default takes everything. */
export type Judge = (parser: Parser, block: HeaderBlock) => number

/** Parses `data` in pieces that end at `cuts` (rising offsets), one message after the other. */
export function feed(
  type: typeof REQUEST | typeof RESPONSE,
  data: Buffer,
  cuts: readonly number[],
  judge: Judge = () => HEAD_OK
): Outcome {
  const { memory } = llhttp()
  const outcome: Outcome = { messages: [], fault: 0, taken: 0 }
  const block = new HeaderBlock()
  let isOver = false
  const handler = {
    onHead(parser: Parser): number {
      const { text } = block
      const fields: string[] = []
      block.forEach((name, value) => {
        fields.push(name, value)
      })
      outcome.messages.push({
        target: text.slice(parser.targetStart, parser.targetEnd),
        status: parser.status,
        version: `${parser.versionMajor}.${parser.versionMinor}`,
        keepAlive: parser.keepAlive,
        fields,
        lines: block.lines(),
        body: '',
        trailers: null
      })
      return judge(parser, block)
    },
    onBody(start: number, end: number): void {
      outcome.messages.at(-1)!.body += memory.bytes.latin1Slice(start, end)
    },
    onComplete({ trailers }: Parser): void {
      outcome.messages.at(-1)!.trailers = trailers
      isOver = true
    }
  }
  let parser: Parser | null = null
  try {
    let from = 0
    for (const to of [...cuts, data.length]) {
      data.copy(memory.bytes, memory.shared, from, to)
      let at = memory.shared
      const end = memory.shared + to - from
      while (at < end) {
        if (parser === null) {
          block.reset()
          isOver = false
          parser = acquire(type, handler, block)
        }
        const next: number = parser.execute(at, end)
        if (next < 0) {
          outcome.fault = parser.fault
          return outcome
        }
        at = next
        if (!isOver) continue
        outcome.taken = from + at - memory.shared
        llhttp().release(type, parser)
        parser = null
      }
      from = to
    }
    return outcome
  } finally {
    if (parser !== null) llhttp().release(type, parser)
  }
}

function acquire(
  type: typeof REQUEST | typeof RESPONSE,
  handler: NonNullable<Parser['handler']>,
  block: HeaderBlock
): Parser {
  const parser = llhttp().acquire(type, handler, block)
  assert.ok(parser !== null)
  parser.headersMax = 100
  parser.headBytesMax = 48 * 1024
  parser.uriBytesMax = 16 * 1024
  return parser
}

/** Rising cuts for `data`, the same ones for the same data: a fault must show again. */
export function cutsFor(data: Buffer, count: number): number[] {
  let seed = 2_166_136_261
  for (const byte of data) seed = Math.imul(seed ^ byte, 16_777_619) >>> 0
  const cuts = new Set<number>()
  for (let i = 0; i < count && data.length > 1; i++) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    cuts.add(1 + (seed % (data.length - 1)))
  }
  return [...cuts].sort((a, b) => a - b)
}

/** Asserts that the place of cuts changes nothing, and returns the outcome. */
export function feedEveryWay(type: typeof REQUEST | typeof RESPONSE, data: Buffer, judge?: Judge): Outcome {
  const whole = feed(type, data, [], judge)
  assert.deepEqual(feed(type, data, cutsFor(data, 1), judge), whole)
  assert.deepEqual(feed(type, data, cutsFor(data, 7), judge), whole)
  if (data.length <= 512) {
    const everyByte = Array.from({ length: Math.max(data.length - 1, 0) }, (_, i) => i + 1)
    assert.deepEqual(feed(type, data, everyByte, judge), whole)
  }
  return whole
}

const LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/

/** Asserts that forwarded lines are header lines and nothing else: no early end of the head, no folding. */
export function checkLines(lines: string): void {
  if (lines === '') return
  assert.ok(lines.endsWith('\r\n'))
  for (const line of lines.slice(0, -2).split('\r\n')) assert.match(line, LINE)
}
