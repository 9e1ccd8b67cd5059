/** The policy `health` of backends: when an address is left out. Names and defaults are those of Envoy. */
import { RESPONSE_HEAD_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import type { Ejection, HealthPlan } from '#engine/contract/resilience.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { duration } from '#engine/schema/duration.ts'
import { refusedKeys, whole, z } from '#engine/schema/schema.ts'
import { together } from '#engine/schema/together.ts'

const COUNT_MAX = 1_000_000
const FACTOR_MAX = 1_000
const CONSECUTIVE = 5
const BASE_MS = 30_000
const MAX_MS = 300_000
const MAX_EJECTED_PERCENT = 10
const PANIC_PERCENT = 50
const MIN_REQUESTS = 100

const positive = () => duration().refine((ms) => ms > 0, 'must be longer than 0')
const percent = () => whole(0, 100)
const condition = () =>
  expression(RESPONSE_HEAD_ROOTS, 'bool').describe('Which answers are failures, in place of statuses from 500 on.')

const latency = () =>
  z
    .strictObject({
      factor: z
        .number()
        .gt(1, 'must be more than 1')
        .max(FACTOR_MAX)
        .optional()
        .describe('It is slow with so many times the median of the other addresses.'),
      threshold: positive().optional().describe('It is slow when answers take longer than this to begin.'),
      minRequests: whole(1, COUNT_MAX)
        .optional()
        .describe('Answers before it is judged, and before others are compared with it. Default 100.')
    })
    .check(
      together<{ readonly factor?: unknown; readonly threshold?: unknown }>([], ({ value, issues }) => {
        if (value.factor !== undefined || value.threshold !== undefined) return
        issues.push({ code: 'custom', path: [], message: 'must have at least one of factor, threshold', input: value })
      })
    )

const ejection = () =>
  z
    .strictObject({
      consecutive5xx: whole(0, COUNT_MAX)
        .optional()
        .describe('Failed requests in a row: statuses from 500 on, resets, timeouts. 0: they do not count. Default 5.'),
      consecutiveFailures: whole(0, COUNT_MAX).optional().describe('Another name of consecutive5xx.'),
      connectFailures: whole(0, COUNT_MAX)
        .optional()
        .describe('Failed connections in a row. 0: they do not count here. Default 5.'),
      latency: latency().optional().describe('Mean time until answers begin. Default: it does not count.'),
      unhealthyCondition: condition().optional(),
      baseTime: positive()
        .optional()
        .describe('How long an address is left out, times how often it has been lately. Default 30s.'),
      maxTime: positive().optional().describe('As long as it may be left out at most. Default 300s.'),
      maxEjectedPercent: percent().optional().describe('Of the addresses; one may always be left out. Default 10.'),
      ...refusedKeys('ejection setting', ['successRate', 'failurePercentage', 'interval'])
    })
    .check(
      together<{ readonly consecutive5xx?: unknown; readonly consecutiveFailures?: unknown }>([], (payload) => {
        const { value, issues } = payload
        if (value.consecutive5xx === undefined || value.consecutiveFailures === undefined) return
        const message = 'says again what consecutive5xx says: keep one of them'
        issues.push({ code: 'custom', path: ['consecutiveFailures'], message, input: value })
      })
    )

/** As other gateways' files say it. */
const eviction = () =>
  z.strictObject({
    duration: positive().optional().describe('Another name of ejection.baseTime.'),
    consecutiveFailures: whole(0, COUNT_MAX).optional().describe('Another name of ejection.consecutive5xx.'),
    ...refusedKeys('eviction setting', ['restoreHealth', 'healthThreshold'])
  })

const SCHEMA = atLeastOne({
  ejection: ejection().optional().describe('Addresses that fail requests, or are slow, are left out for a while.'),
  panicThreshold: percent()
    .optional()
    .describe('With fewer usable addresses than so many percent, all that can be reached are used. Default 50.'),
  eviction: eviction().optional().describe('Another way to say ejection.'),
  unhealthyCondition: condition().optional().describe('Another place of ejection.unhealthyCondition.'),
  unhealthyExpression: condition().optional().describe('Another name of unhealthyCondition.')
})
  .check(
    together<Record<string, unknown>>([], ({ value, issues }) => {
      const again = (path: string, first: string) => {
        if (value[path] === undefined || value[first] === undefined) return
        issues.push({
          code: 'custom',
          path: [path],
          message: `says again what ${first} says: keep one of them`,
          input: value
        })
      }
      again('eviction', 'ejection')
      again('unhealthyCondition', 'ejection')
      again('unhealthyExpression', 'ejection')
      again('unhealthyExpression', 'unhealthyCondition')
      if (value.panicThreshold === undefined || Object.keys(value).length > 1) return
      const message = 'does nothing by itself: say ejection beside it'
      issues.push({ code: 'custom', path: ['panicThreshold'], message, input: value })
    })
  )
  .meta({ id: 'BackendHealth' })

export const health = () => SCHEMA

export type FileHealth = z.output<typeof SCHEMA>

export function healthOf(file: FileHealth): HealthPlan {
  return { ejection: ejectionOf(file), panicThreshold: file.panicThreshold ?? PANIC_PERCENT }
}

function ejectionOf(file: FileHealth): Ejection | null {
  const { eviction: other, unhealthyExpression, unhealthyCondition = unhealthyExpression } = file
  if (file.ejection === undefined && other === undefined && unhealthyCondition === undefined) return null
  const { consecutive5xx, consecutiveFailures, connectFailures, latency: slow, ...rest } = file.ejection ?? {}
  const baseTimeMs = rest.baseTime ?? other?.duration ?? BASE_MS
  return {
    consecutive5xx: consecutive5xx ?? consecutiveFailures ?? other?.consecutiveFailures ?? CONSECUTIVE,
    connectFailures: connectFailures ?? CONSECUTIVE,
    latency:
      slow === undefined
        ? null
        : {
            factor: slow.factor ?? null,
            thresholdMs: slow.threshold ?? null,
            minRequests: slow.minRequests ?? MIN_REQUESTS
          },
    unhealthyCondition: rest.unhealthyCondition ?? unhealthyCondition ?? null,
    baseTimeMs,
    // A base time that is longer than the default holds all the same.
    maxTimeMs: rest.maxTime ?? Math.max(MAX_MS, baseTimeMs),
    maxEjectedPercent: rest.maxEjectedPercent ?? MAX_EJECTED_PERCENT
  }
}
