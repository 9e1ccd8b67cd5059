/** Writes spans as OTLP has them (opentelemetry/proto/trace/v1/trace.proto), each when it has ended. */
import type { FieldSink } from '#engine/contract/access-log.ts'
import { BYTES, FIXED64, ProtobufWriter, tag, VARINT } from '#engine/kit/protobuf-writer.ts'

/** Of one span. What has no room in it is counted as dropped. */
const SPAN_BYTES_MAX = 64 * 1024
/** Longest value of an attribute; what is longer is cut. */
const TEXT_BYTES_MAX = 16 * 1024
/** Tags, lengths and numbers of one field. */
const SLACK_BYTES = 32

/** Span.SpanKind */
export const SPAN_SERVER = 2
export const SPAN_CLIENT = 3
/** Status.StatusCode */
const STATUS_ERROR = 2

/** SpanFlags: what is known of the parent beside the flags of its headers. */
const HAS_IS_REMOTE = 0x100
const IS_REMOTE = 0x200

const FIXED32 = 5
const TRACE_ID = tag(1, BYTES)
const SPAN_ID = tag(2, BYTES)
const TRACE_STATE = tag(3, BYTES)
const PARENT_SPAN_ID = tag(4, BYTES)
const NAME = tag(5, BYTES)
const KIND = tag(6, VARINT)
const START = tag(7, FIXED64)
const END = tag(8, FIXED64)
const ATTRIBUTES = tag(9, BYTES)
const DROPPED_ATTRIBUTES = tag(10, VARINT)
const LINKS = tag(13, BYTES)
const STATUS = tag(15, BYTES)
/** Field 16: a tag of two bytes. */
const FLAGS = (16 << 3) | FIXED32
const LINK_FLAGS = tag(6, FIXED32)

const STATUS_MESSAGE = tag(2, BYTES)
const STATUS_CODE = tag(3, VARINT)

const KEY = tag(1, BYTES)
const VALUE = tag(2, BYTES)
const STRING_VALUE = tag(1, BYTES)
const BOOL_VALUE = tag(2, VARINT)
const INT_VALUE = tag(3, VARINT)
const DOUBLE_VALUE = tag(4, 1)

export type AttributeValue = string | number | boolean

/** The name of an attribute as it is written. */
export class AttributeKey {
  readonly name: string
  readonly bytes: Buffer

  constructor(name: string) {
    this.name = name
    const text = Buffer.from(name)
    const length: number[] = []
    for (let rest = text.length; ; rest >>>= 7) {
      length.push(rest > 127 ? (rest & 127) | 128 : rest)
      if (rest <= 127) break
    }
    this.bytes = Buffer.concat([Buffer.from([KEY, ...length]), text])
  }
}

/** How a span is related to what surrounds it. */
export interface SpanIds {
  readonly traceId: string
  readonly spanId: string
  /** '': it is the first of its trace. */
  readonly parentSpanId: string
  /** The parent is a span of another process. */
  readonly isParentRemote: boolean
  /** trace-flags of the headers. */
  readonly flags: number
  /** '' for none. */
  readonly tracestate: string
}

/** Microseconds since 1970. */
export interface SpanTimes {
  readonly startedAt: number
  readonly endedAt: number
}

export class SpanWriter implements FieldSink {
  readonly #out = new ProtobufWriter(SPAN_BYTES_MAX, TEXT_BYTES_MAX)
  #dropped = 0

  begin(ids: SpanIds, name: string, kind: number, { startedAt, endedAt }: SpanTimes): void {
    const out = this.#out
    out.reset()
    this.#dropped = 0
    this.#ids(ids.traceId, ids.spanId)
    if (ids.tracestate !== '') {
      out.byte(TRACE_STATE)
      out.text(ids.tracestate)
    }
    if (ids.parentSpanId !== '') {
      out.byte(PARENT_SPAN_ID)
      out.byte(8)
      out.hex(ids.parentSpanId)
    }
    out.byte(NAME)
    out.text(name)
    out.byte(KIND)
    out.byte(kind)
    out.byte(START)
    out.nanoseconds(startedAt)
    out.byte(END)
    out.nanoseconds(endedAt)
    out.varint(FLAGS)
    const remote = ids.parentSpanId === '' ? 0 : HAS_IS_REMOTE | (ids.isParentRemote ? IS_REMOTE : 0)
    this.#fixed32(ids.flags | remote)
  }

  attribute(key: AttributeKey, value: AttributeValue): boolean {
    const out = this.#out
    const text = typeof value === 'string' ? out.room(value) : 0
    if (!out.hasRoom(key.bytes.length + text + SLACK_BYTES)) {
      this.#dropped++
      return false
    }
    out.byte(ATTRIBUTES)
    const start = out.beginLength()
    out.bytes(key.bytes)
    out.byte(VALUE)
    writeAnyValue(out, value)
    out.endLength(start)
    return true
  }

  /** Attributes that `encodeAttributes` has made. */
  encoded(attributes: Buffer): void {
    if (this.#out.hasRoom(attributes.length + SLACK_BYTES)) this.#out.bytes(attributes)
    else this.#dropped++
  }

  /** Bytes of the span so far. */
  get length(): number {
    return this.#out.at
  }

  /** What has been written since the span was that long. */
  copyFrom(start: number): Buffer {
    return Buffer.from(this.#out.written.subarray(start))
  }

  /** For attributes whose names are known only now. */
  add(name: string, value: string | number | boolean | null): boolean {
    return this.attribute(new AttributeKey(name), value ?? 'null')
  }

  /** A span of another trace, or another caller of this one. */
  link(traceId: string, spanId: string, flags: number): void {
    const out = this.#out
    out.byte(LINKS)
    const start = out.beginLength()
    this.#ids(traceId, spanId)
    out.byte(LINK_FLAGS)
    this.#fixed32(flags | HAS_IS_REMOTE | IS_REMOTE)
    out.endLength(start)
  }

  /** `message` is for people; '' for none. */
  failed(message: string): void {
    const out = this.#out
    if (!out.hasRoom(out.room(message) + SLACK_BYTES)) return
    out.byte(STATUS)
    const start = out.beginLength()
    if (message !== '') {
      out.byte(STATUS_MESSAGE)
      out.text(message)
    }
    out.byte(STATUS_CODE)
    out.byte(STATUS_ERROR)
    out.endLength(start)
  }

  /** The span, valid until the next one begins. */
  end(): Buffer {
    const out = this.#out
    if (this.#dropped > 0 && out.hasRoom(SLACK_BYTES)) {
      out.byte(DROPPED_ATTRIBUTES)
      out.varint(this.#dropped)
    }
    return out.written
  }

  /** Goes on with what `end` has returned. */
  resume(span: Buffer): void {
    this.#out.reset()
    this.#out.bytes(span)
    this.#dropped = 0
  }

  /** The beginning of a Span and of a Link is the same. */
  #ids(traceId: string, spanId: string): void {
    const out = this.#out
    out.byte(TRACE_ID)
    out.byte(16)
    out.hex(traceId)
    out.byte(SPAN_ID)
    out.byte(8)
    out.hex(spanId)
  }

  #fixed32(value: number): void {
    const out = this.#out
    out.byte(value & 255)
    out.byte((value >>> 8) & 255)
    out.byte((value >>> 16) & 255)
    out.byte(value >>> 24)
  }
}

/** AnyValue with its length; the tag of its field has been written. */
function writeAnyValue(out: ProtobufWriter, value: AttributeValue): void {
  const start = out.beginLength()
  if (typeof value === 'string') {
    out.byte(STRING_VALUE)
    out.text(value)
  } else if (typeof value === 'boolean') {
    out.byte(BOOL_VALUE)
    out.byte(value ? 1 : 0)
  } else if (Number.isSafeInteger(value)) {
    out.byte(INT_VALUE)
    out.int64(value)
  } else {
    out.byte(DOUBLE_VALUE)
    out.double(value)
  }
  out.endLength(start)
}

export type Attributes = readonly (readonly [name: string, value: AttributeValue])[]

/** Attributes that are the same for many spans, as a span has them; or, with the tag of that field, a resource. */
export function encodeAttributes(attributes: Attributes, fieldTag = ATTRIBUTES): Buffer {
  const bytes = attributes.reduce((sum, [name, value]) => sum + (name.length + String(value).length) * 3 + 64, 0)
  const out = new ProtobufWriter(bytes, TEXT_BYTES_MAX)
  for (const [name, value] of attributes) {
    out.byte(fieldTag)
    const start = out.beginLength()
    out.bytes(new AttributeKey(name).bytes)
    out.byte(VALUE)
    writeAnyValue(out, value)
    out.endLength(start)
  }
  return Buffer.from(out.written)
}
