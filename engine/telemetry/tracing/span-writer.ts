/** Writes spans as OTLP has them (opentelemetry/proto/trace/v1/trace.proto), each when it has ended. */
import { BYTES, FIXED32, FIXED64, tag, VARINT } from '#engine/kit/protobuf-writer.ts'
import { AttributeWriter, SLACK_BYTES } from '#engine/telemetry/otlp/attributes.ts'

/** Span.SpanKind */
export const SPAN_SERVER = 2
export const SPAN_CLIENT = 3
/** Status.StatusCode */
const STATUS_ERROR = 2

/** SpanFlags: what is known of the parent beside the flags of its headers. */
const SAMPLED = 1
const HAS_IS_REMOTE = 0x100
const IS_REMOTE = 0x200

const TRACE_ID = tag(1, BYTES)
const SPAN_ID = tag(2, BYTES)
const TRACE_STATE = tag(3, BYTES)
const PARENT_SPAN_ID = tag(4, BYTES)
const NAME = tag(5, BYTES)
const KIND = tag(6, VARINT)
const START = tag(7, FIXED64)
const END = tag(8, FIXED64)
/** Span.attributes */
export const SPAN_ATTRIBUTES = tag(9, BYTES)
const DROPPED_ATTRIBUTES = tag(10, VARINT)
const LINKS = tag(13, BYTES)
const STATUS = tag(15, BYTES)
/** Field 16: a tag of two bytes. */
const FLAGS = (16 << 3) | FIXED32
const LINK_FLAGS = tag(6, FIXED32)

const STATUS_MESSAGE = tag(2, BYTES)
const STATUS_CODE = tag(3, VARINT)

/** The name of a field that names the span, as in files of agentgateway. */
const SPAN_NAME = 'span.name'

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

export class SpanWriter extends AttributeWriter {
  constructor() {
    super(SPAN_ATTRIBUTES, DROPPED_ATTRIBUTES)
  }

  begin(ids: SpanIds, name: string, kind: number, { startedAt, endedAt }: SpanTimes): void {
    const { out } = this
    this.reset()
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
    out.fixed32(ids.flags | remote)
  }

  /** Of the fields of a configuration one is the span's name, not an attribute. */
  override add(name: string, value: string | number | boolean | null): boolean {
    return name === SPAN_NAME && typeof value === 'string' ? this.#rename(value) : super.add(name, value)
  }

  /** Of a field that is not repeated, the last holds (protobuf encoding, "Last One Wins"). */
  #rename(name: string): boolean {
    const { out } = this
    if (name === '' || !out.hasRoom(out.room(name) + SLACK_BYTES)) return false
    out.byte(NAME)
    out.text(name)
    return true
  }

  /** Another sampled span of this process. */
  link(traceId: string, spanId: string): void {
    const { out } = this
    out.byte(LINKS)
    const start = out.beginLength()
    this.#ids(traceId, spanId)
    out.byte(LINK_FLAGS)
    out.fixed32(SAMPLED | HAS_IS_REMOTE)
    out.endLength(start)
  }

  /** `message` is for people; '' for none. */
  failed(message: string): void {
    const { out } = this
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

  /** The beginning of a Span and of a Link is the same. */
  #ids(traceId: string, spanId: string): void {
    const { out } = this
    out.byte(TRACE_ID)
    out.byte(16)
    out.hex(traceId)
    out.byte(SPAN_ID)
    out.byte(8)
    out.hex(spanId)
  }
}
