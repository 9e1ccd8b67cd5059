/** Writes log records as OTLP has them (opentelemetry/proto/logs/v1/logs.proto). */
import type { TraceIds } from '#engine/contract/tracing.ts'
import { BYTES, FIXED32, FIXED64, tag, VARINT } from '#engine/kit/protobuf-writer.ts'
import { AttributeWriter, writeAnyValue } from './otlp/attributes.ts'

/** SeverityNumber, and its text. */
export const INFO = { number: 9, text: 'INFO' } as const
export const ERROR = { number: 17, text: 'ERROR' } as const

const TIME = tag(1, FIXED64)
const SEVERITY_NUMBER = tag(2, VARINT)
const SEVERITY_TEXT = tag(3, BYTES)
const BODY = tag(5, BYTES)
/** LogRecord.attributes */
export const RECORD_ATTRIBUTES = tag(6, BYTES)
const DROPPED_ATTRIBUTES = tag(7, VARINT)
const FLAGS = tag(8, FIXED32)
const TRACE_ID = tag(9, BYTES)
const SPAN_ID = tag(10, BYTES)
const OBSERVED_TIME = tag(11, FIXED64)
const EVENT_NAME = tag(12, BYTES)
const SAMPLED = 1

export interface RecordHead {
  readonly eventName: string
  readonly severity: typeof INFO | typeof ERROR
  readonly body: string
  /** Microseconds since 1970. */
  readonly at: number
  /** Null: what it tells of is part of no trace that is sampled. */
  readonly trace: TraceIds | null
}

export class LogRecordWriter extends AttributeWriter {
  constructor() {
    super(RECORD_ATTRIBUTES, DROPPED_ATTRIBUTES)
  }

  begin({ eventName, severity, body, at, trace }: RecordHead): void {
    const { out } = this
    this.reset()
    out.byte(TIME)
    out.nanoseconds(at)
    out.byte(OBSERVED_TIME)
    out.nanoseconds(at)
    out.byte(SEVERITY_NUMBER)
    out.byte(severity.number)
    out.byte(SEVERITY_TEXT)
    out.text(severity.text)
    out.byte(EVENT_NAME)
    out.text(eventName)
    out.byte(BODY)
    writeAnyValue(out, body)
    if (trace === null) return
    out.byte(FLAGS)
    out.fixed32(SAMPLED)
    out.byte(TRACE_ID)
    out.byte(trace.traceId.length / 2)
    out.hex(trace.traceId)
    out.byte(SPAN_ID)
    out.byte(trace.spanId.length / 2)
    out.hex(trace.spanId)
  }
}
