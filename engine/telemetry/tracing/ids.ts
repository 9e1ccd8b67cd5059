/** Trace and span ids: random, since all gateways of a fleet make them without asking each other. */
import { randomFillSync } from 'node:crypto'

const TRACE_BYTES = 16
const SPAN_BYTES = 8
/** Asking the system for random bytes takes a microsecond however few they are. */
const pool = Buffer.allocUnsafeSlow(8192)
let at = pool.length

function take(bytes: number): string {
  if (at + bytes > pool.length) {
    randomFillSync(pool)
    at = 0
  }
  at += bytes
  return pool.toString('hex', at - bytes, at)
}

const NO_TRACE = '0'.repeat(2 * TRACE_BYTES)
const NO_SPAN = '0'.repeat(2 * SPAN_BYTES)

/** 32 hex digits. */
export function newTraceId(): string {
  const id = take(TRACE_BYTES)
  return id === NO_TRACE ? newTraceId() : id
}

/** 16 hex digits. */
export function newSpanId(): string {
  const id = take(SPAN_BYTES)
  return id === NO_SPAN ? newSpanId() : id
}

/** Bits of a trace id that are random by either specification, as 0 <= x < 1: W3C level 2 has the last 56. */
const RANDOM_DIGITS = 13
const RANDOM_RANGE = 16 ** RANDOM_DIGITS

/**
 * Whether a trace belongs to the `share` of traces that are sampled: the same answer for all its requests, here and in
 * other samplers of OpenTelemetry that decide by the id (specification, "TraceIdRatioBased", level 2).
 */
export function isInShare(traceId: string, share: number): boolean {
  if (share >= 1) return true
  const start = 2 * TRACE_BYTES - 14
  return Number.parseInt(traceId.substring(start, start + RANDOM_DIGITS), 16) / RANDOM_RANGE >= 1 - share
}
