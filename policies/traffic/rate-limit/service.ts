/** Request and answer of a rate limit service (envoy.service.ratelimit.v3, as envoyproxy/ratelimit speaks it). */
import type { GrpcAnswer, ServiceFailure } from '#engine/contract/service.ts'
import {
  RateLimitRequest,
  RateLimitResponse,
  RateLimitResponse_Code,
  type RateLimitResponse_DescriptorStatus,
  RateLimitResponse_RateLimit_Unit
} from '#engine/proto/generated/envoy/service/ratelimit/v3/rls.ts'
import type { Quota } from '#policies/shared/quota.ts'
import { octetsOf, settableName } from '#policies/shared/service-fields.ts'

export const SHOULD_RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'
/** Services answer with some bytes for each descriptor. */
export const ANSWER_BYTES_MAX = 256 * 1024
/** hits_addend is a uint32. */
const HITS_MAX = 0xffff_ffff
/** Fields that an answer may add: services add a few. */
const FIELDS_MAX = 256
/** Of a structured field (RFC 9651 section 3.3.1). */
const INTEGER_MAX = 999_999_999_999_999

/** Names and values of one descriptor. */
export interface Descriptor {
  readonly entries: readonly { readonly key: string; readonly value: string }[]
}

/** `hits`: what the descriptors are charged with; the service takes 0 for 1. */
export function limitRequest(domain: string, descriptors: readonly Descriptor[], hits: number): Uint8Array {
  return RateLimitRequest.encode({
    domain,
    descriptors: descriptors.map(({ entries }) => ({ entries: [...entries], limit: undefined, hitsAddend: undefined })),
    hitsAddend: Math.min(hits, HITS_MAX)
  }).finish()
}

/** Fields of a header, flat: name, value, ... */
export type FlatFields = readonly string[]

export interface LimitAnswer {
  readonly isOver: boolean
  /** Which descriptors are over their limits, as far as the service says. */
  readonly over: readonly number[]
  /** The tightest limit, as far as the service says; null: it says nothing. */
  readonly quota: Quota | null
  /** Whole seconds until a limit that is used up has room; null: unknown. */
  readonly retryAfterS: number | null
  /** Values of RateLimit-Policy and RateLimit; '' where the service names no limit. */
  readonly policies: string
  readonly states: string
  readonly requestFields: FlatFields
  readonly responseFields: FlatFields
  /** Body of the refusal; null: that of the gateway. */
  readonly body: Buffer | null
}

/**
 * A text: why there is no verdict, for logs. `descriptorCount`: of the request. The service answers with one
 * status for each; further ones are ignored. `ignored` is called for fields that cannot be set.
 */
export function readAnswer(
  answer: GrpcAnswer | ServiceFailure,
  service: string,
  descriptorCount: number,
  ignored: () => void
): LimitAnswer | string {
  if (answer.error !== null) return `${service}: ${answer.error}, ${answer.detail}`
  if (answer.status !== 0) return `${service}: it answers with grpc-status ${answer.status}`
  const response = decoded(answer.bytes!)
  if (response === null || !isVerdict(response)) return `${service}: its answer is no verdict`
  const { overallCode, rawBody, requestHeadersToAdd, responseHeadersToAdd } = response
  if (requestHeadersToAdd.length + responseHeadersToAdd.length > FIELDS_MAX)
    return `${service}: its answer has more than ${FIELDS_MAX} fields`
  const statuses = response.statuses.slice(0, descriptorCount)
  const named = statuses.flatMap((status, i) => limitOf(status, i) ?? [])
  return {
    isOver: overallCode === RateLimitResponse_Code.OVER_LIMIT,
    over: statuses.flatMap(({ code }, i) => (code === RateLimitResponse_Code.OVER_LIMIT ? i : [])),
    quota: tightest(named),
    retryAfterS: retryAfter(statuses),
    policies: named.map(({ name, capacity, windowS }) => `"${name}";q=${capacity}${windowOf(windowS)}`).join(', '),
    states: named.map(({ name, left, resetS }) => `"${name}";r=${left};t=${resetS}`).join(', '),
    requestFields: fieldsOf(requestHeadersToAdd, ignored),
    responseFields: fieldsOf(responseHeadersToAdd, ignored),
    body: rawBody.length === 0 ? null : rawBody
  }
}

function decoded(bytes: Uint8Array): RateLimitResponse | null {
  try {
    return RateLimitResponse.decode(bytes)
  } catch {
    // Whatever a service sends is an answer or none.
    return null
  }
}

/** Neither UNKNOWN nor a code of a later version. */
function isVerdict({ overallCode }: RateLimitResponse): boolean {
  return overallCode === RateLimitResponse_Code.OK || overallCode === RateLimitResponse_Code.OVER_LIMIT
}

interface NamedLimit extends Quota {
  readonly name: string
  /** Length of the window; null: unknown. */
  readonly windowS: number | null
}

const UNIT = RateLimitResponse_RateLimit_Unit
/** Months have 30 days and years 365, as envoyproxy/ratelimit counts them. */
const DAY_S = 86_400
const UNIT_SECONDS: Readonly<Record<number, number>> = {
  [UNIT.SECOND]: 1,
  [UNIT.MINUTE]: 60,
  [UNIT.HOUR]: 3_600,
  [UNIT.DAY]: DAY_S,
  [UNIT.WEEK]: 7 * DAY_S,
  [UNIT.MONTH]: 30 * DAY_S,
  [UNIT.YEAR]: 365 * DAY_S
}

/** Null: the service knows no limit for this descriptor. */
function limitOf(status: RateLimitResponse_DescriptorStatus, at: number): NamedLimit | null {
  const { currentLimit, limitRemaining } = status
  if (currentLimit === undefined) return null
  const { name, requestsPerUnit, unit } = currentLimit
  const windowS = UNIT_SECONDS[unit] ?? null
  return {
    name: /^[ !#-[\]-~]{1,128}$/.test(name) ? name : `descriptor-${at}`,
    capacity: requestsPerUnit,
    left: limitRemaining,
    resetS: resetOf(status) ?? windowS ?? 1,
    windowS
  }
}

/** Whole seconds, at least 1; null: unknown. */
function resetOf({ durationUntilReset: until }: RateLimitResponse_DescriptorStatus): number | null {
  if (until === undefined) return null
  return Math.min(Math.max(1, Number(until.seconds) + (until.nanos > 0 ? 1 : 0)), INTEGER_MAX)
}

function windowOf(windowS: number | null): string {
  return windowS === null ? '' : `;w=${windowS}`
}

function tightest(limits: readonly NamedLimit[]): Quota | null {
  let found: Quota | null = null
  for (const { capacity, left, resetS } of limits)
    if (found === null || left < found.left || (left === found.left && resetS > found.resetS))
      found = { capacity, left, resetS }
  return found
}

function retryAfter(statuses: readonly RateLimitResponse_DescriptorStatus[]): number | null {
  const resets = statuses.flatMap((status, i) =>
    status.code === RateLimitResponse_Code.OVER_LIMIT ? (resetOf(status) ?? limitOf(status, i)?.resetS ?? []) : []
  )
  return resets.length === 0 ? null : Math.max(...resets)
}

type HeaderValues = RateLimitResponse['responseHeadersToAdd']

function fieldsOf(values: HeaderValues, ignored: () => void): FlatFields {
  const fields: string[] = []
  for (const field of values) {
    const name = settableName(field.key)
    const value = octetsOf(field)
    if (name === null || value === null) ignored()
    else fields.push(name, value)
  }
  return fields
}
