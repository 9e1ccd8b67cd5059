/** Limits of this process: its workers enforce one limit exactly (docs/design/010-rate-limit.md). */

import { REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import type { Value } from '#engine/cel/index.ts'
import { type Evaluation, evaluation, showEvaluation } from '#engine/cel/offload.ts'
import { addMeters, type Limit, type Meter } from '#engine/contract/buckets.ts'
import { type Detail, placeOf } from '#engine/contract/detail.ts'
import { type Exchange, readAsShortest } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, type Verdict } from '#engine/contract/filter.ts'
import type { CompileContext } from '#engine/contract/policy.ts'
import { refuse } from '#engine/contract/refuse.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { whole, z } from '#engine/schema/schema.ts'
import { sound } from '#engine/schema/together.ts'
import { noteQuota, QUOTA } from '#policies/shared/quota.ts'

/** Keeps a bucket, burst included, and its debt within 32 bits. */
const AMOUNT_MAX = 1_000_000_000
const UNITS_MS = { Seconds: 1_000, Minutes: 60_000, Hours: 3_600_000 } as const
const KINDS = ['requests', 'tokens'] as const

/** One limit, whichever way it was written. */
export interface LocalConfig {
  readonly kind: (typeof KINDS)[number]
  readonly amount: number
  readonly burst: number
  readonly unitMs: number
  /** The expression that tells callers apart; undefined: they share one bucket. */
  readonly caller: string | undefined
}

const key = () => expression(REQUEST_ROOTS).optional()

export const localLimit = () =>
  oneOf(
    { requests: whole(1, AMOUNT_MAX).optional(), tokens: whole(1, AMOUNT_MAX).optional() },
    { unit: z.enum(['Seconds', 'Minutes', 'Hours']), burst: whole(0, AMOUNT_MAX).optional(), key: key() }
  ).transform(
    ({ requests, tokens, unit, burst = 0, key }): LocalConfig => ({
      kind: tokens === undefined ? 'requests' : 'tokens',
      amount: tokens ?? requests!,
      burst,
      unitMs: UNITS_MS[unit],
      caller: key
    })
  )

/** The file's other form: a bucket of maxTokens, full at first, that gets tokensPerFill every fillInterval. */
export const fillLimit = () =>
  z
    .strictObject({
      maxTokens: whole(1, AMOUNT_MAX),
      tokensPerFill: whole(1, AMOUNT_MAX),
      fillInterval: positiveDuration('must be longer than 0s'),
      type: z.enum(KINDS).optional(),
      key: key()
    })
    .refine(({ maxTokens, tokensPerFill }) => tokensPerFill <= maxTokens, {
      when: sound('maxTokens', 'tokensPerFill'),
      path: ['tokensPerFill'],
      error: 'must not be more than maxTokens: a bucket holds no more than that'
    })
    .transform(
      ({ maxTokens, tokensPerFill, fillInterval, type = 'requests', key }): LocalConfig => ({
        kind: type,
        amount: tokensPerFill,
        burst: maxTokens - tokensPerFill,
        unitMs: fillInterval,
        caller: key
      })
    )

// --- build time ---

interface CompiledLimit {
  readonly limit: Limit
  readonly isTokens: boolean
  readonly caller: Evaluation | null
  /** The detail of a refusal by it, made once. */
  readonly why: Detail
}

/** The hook, and the expressions that it runs. */
export interface Admission {
  readonly admit: Hook
  readonly expressions: readonly Evaluation[]
}

export function localLimits(local: readonly LocalConfig[], context: CompileContext): Admission {
  const limits = local.map((config, i) => compileLimit(config, i, ordinal(local, i), context))
  const expressions = limits.flatMap(({ caller }) => caller ?? [])
  const waiting = expressions.filter(({ mayWait }) => mayWait)
  // Hooks run to their end before another exchange has its turn, so one list is enough for all.
  const taken = new Int32Array(limits.length)
  const onFailure = () => context.failed('rateLimit')
  // All callers are found out first: then the limits take, and give back, without a wait in between.
  const later = async (ex: Exchange): Promise<Verdict> => {
    const view = readAsShortest(ex)
    const callers = await Promise.all(limits.map(({ caller }) => caller?.run(view) ?? null))
    return take(ex, limits, callers, taken, onFailure)
  }
  const admit: Hook = (ex) => {
    for (let i = 0; i < waiting.length; i++) {
      if (waiting[i]!.waits(ex)) return later(ex)
    }
    return take(ex, limits, null, taken, onFailure)
  }
  return { admit, expressions }
}

function compileLimit(
  config: LocalConfig,
  index: number,
  same: number,
  { buckets, attachment, offload }: CompileContext
): CompiledLimit {
  const { kind, amount, burst, unitMs, caller } = config
  const id = JSON.stringify(['rateLimit', attachment, kind, caller ?? null, same])
  const who =
    caller === undefined
      ? null
      : evaluation(caller, 'request', 'any', (name, job, client) => offload.run(name, job, client))
  return {
    limit: buckets.limit({ id, amount, burst, unitMs, isKeyed: caller !== undefined }),
    isTokens: kind === 'tokens',
    caller: who,
    why: (ex) => {
      const bucket = who === null ? 'one bucket for all' : `the bucket of ${showEvaluation(who, readAsShortest(ex))}`
      const more = burst === 0 ? '' : ` and a burst of ${burst}`
      return `${placeOf(ex, 'rateLimit', `.local[${index}]`)}: ${amount} ${kind} per ${unitMs / 1_000}s${more}; ${bucket}`
    }
  }
}

/** How many equal limits stand before it: its place in the list would change when another one is put in. */
function ordinal(local: readonly LocalConfig[], at: number): number {
  const text = JSON.stringify(local[at])
  return local.slice(0, at).filter((other) => JSON.stringify(other) === text).length
}

// --- request time ---

/**
 * All limits must have room; when one has not, those before it get back what they gave. `known`: who asks, by limit;
 * null: to be found out here.
 */
function take(
  ex: Exchange,
  limits: readonly CompiledLimit[],
  known: readonly Value[] | null,
  taken: Int32Array,
  failed: () => void
): Verdict {
  let meters: Meter[] | null = null
  for (let i = 0; i < limits.length; i++) {
    const { limit, isTokens, caller, why } = limits[i]!
    const name =
      caller === null ? null : callerOf(known === null ? (caller.run(readAsShortest(ex)) as Value) : known[i]!)
    if (name === null && caller !== null) failed()
    const left = limit.take(name, 1, isTokens ? 0 : 1)
    const waitS = Math.max(1, Math.ceil(limit.waitMs / 1_000))
    if (left < 0) {
      for (let j = 0; j < i; j++) if (!limits[j]!.isTokens) limits[j]!.limit.giveBack(taken[j]!, 1)
      QUOTA.set(ex, { capacity: limit.capacity, left: 0, resetS: waitS })
      return refuse(ex, 'RATE_LIMITED', ['Retry-After', String(waitS)], why)
    }
    taken[i] = limit.bucket
    noteQuota(ex, limit.capacity, left, waitS)
    if (!isTokens) continue
    const meter = { limit, caller: name }
    if (meters === null) meters = [meter]
    else meters.push(meter)
  }
  if (meters !== null) addMeters(ex, meters)
  return CONTINUE
}

/** What tells callers apart: text, a number or a boolean. Null, the unknown caller, for errors and all else. */
function callerOf(value: Value): string | null {
  if (typeof value === 'string') return value === '' ? null : value
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : null
}
