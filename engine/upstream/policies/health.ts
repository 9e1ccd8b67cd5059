/** The policy `health` of backends: when an address is left out. Names and defaults are those of Envoy. */

import { RESPONSE_HEAD_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import type { ActiveCheck, Ejection, HealthPlan } from '#engine/contract/resilience.ts'
import { atLeastOne, exactlyOne, someOf } from '#engine/schema/choice.ts'
import { duration, positiveDuration } from '#engine/schema/duration.ts'
import { port } from '#engine/schema/net.ts'
import { cel, ONLY_FILES } from '#engine/schema/rule.ts'
import { list, refusedKeys, whole, z } from '#engine/schema/schema.ts'
import { onlyInFiles } from '#engine/schema/spelling.ts'
import { together } from '#engine/schema/together.ts'

const COUNT_MAX = 1_000_000
const FACTOR_MAX = 1_000
const CONSECUTIVE = 5
const BASE_MS = 30_000
const MAX_MS = 300_000
const MAX_EJECTED_PERCENT = 10
const PANIC_PERCENT = 50
const MIN_REQUESTS = 100
const INTERVAL_MS = 10_000
const INTERVAL_MIN_MS = 100
const TIMEOUT_MS = 1_000
const STATUSES_MAX = 16
const SERVICE_MAX = 1_000

const positive = () => positiveDuration('must be longer than 0')
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
    .check(someOf(['factor', 'threshold']))

const ejection = () =>
  z
    .strictObject({
      consecutive5xx: whole(0, COUNT_MAX)
        .optional()
        .describe('Failed requests in a row: statuses from 500 on, resets, timeouts. 0: they do not count. Default 5.'),
      consecutiveFailures: onlyInFiles(whole(0, COUNT_MAX).optional()).describe('Another name of consecutive5xx.'),
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
      together<{ readonly consecutive5xx?: unknown; readonly consecutiveFailures?: unknown }>(
        [],
        (payload) => {
          const { value, issues } = payload
          if (value.consecutive5xx === undefined || value.consecutiveFailures === undefined) return
          const message = 'says again what consecutive5xx says: keep one of them'
          issues.push({ code: 'custom', path: ['consecutiveFailures'], message, input: value })
        },
        ONLY_FILES
      )
    )

/** As other gateways' files say it. */
const eviction = () =>
  z.strictObject({
    duration: positive().optional().describe('Another name of ejection.baseTime.'),
    consecutiveFailures: whole(0, COUNT_MAX).optional().describe('Another name of ejection.consecutive5xx.'),
    ...refusedKeys('eviction setting', ['restoreHealth', 'healthThreshold'])
  })

const STATUS = /^([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?$/
const STATUSES_EXPECTED = 'must be a status such as 200, or a range such as "200-399"'

const statuses = () =>
  z
    .union([whole(100, 599), z.string().regex(STATUS, STATUSES_EXPECTED)], { error: STATUSES_EXPECTED })
    .transform((text): readonly [number, number] => {
      const [, from, to = from] = STATUS.exec(String(text))!
      return [Number(from), Number(to)]
    })

const KINDS = ['http', 'grpc', 'tcp'] as const

const active = () =>
  z
    .strictObject({
      http: z
        .strictObject({
          path: z
            .string()
            .regex(/^\/[!-~]*$/, 'must begin with "/" and have visible ASCII characters only')
            .optional(),
          method: z.enum(['GET', 'HEAD', 'OPTIONS', 'POST']).optional(),
          host: z
            .string()
            .regex(/^[A-Za-z0-9._:[\]-]{1,253}$/, 'must be a host, with or without a port')
            .optional(),
          expectedStatuses: list(statuses(), 1, STATUSES_MAX).optional()
        })
        .optional()
        .describe(
          'A request: path (default "/"), method (GET), host (that of the server), expectedStatuses (200-299).'
        ),
      grpc: z
        .strictObject({ service: z.string().max(SERVICE_MAX).optional() })
        .optional()
        .describe('grpc.health.v1.Health/Check about a service, or the server as a whole.'),
      tcp: z.strictObject({}).optional().describe('A connection, with TLS where that is spoken.'),
      interval: duration()
        .refine((ms) => ms >= INTERVAL_MIN_MS, {
          error: 'must be at least 100ms',
          params: cel(`duration(self) >= duration('${INTERVAL_MIN_MS}ms')`)
        })
        .optional()
        .describe('From one check of an address to the next, for the whole process. Default 10s.'),
      timeout: positive().optional().describe('For one check. Default 1s.'),
      healthyThreshold: whole(1, COUNT_MAX)
        .optional()
        .describe('Good checks in a row until it is used again. Default 1.'),
      unhealthyThreshold: whole(1, COUNT_MAX)
        .optional()
        .describe('Bad checks in a row until it is left out. Default 3.'),
      port: port().optional().describe('Another port than that of the server.'),
      ...refusedKeys('health check setting', ['headers', 'payload', 'eventLogPath'])
    })
    .check(exactlyOne(KINDS))

function activeOf(file: z.output<ReturnType<typeof active>>): ActiveCheck {
  const { http, grpc } = file
  const times = {
    intervalMs: file.interval ?? INTERVAL_MS,
    timeoutMs: file.timeout ?? TIMEOUT_MS,
    healthyThreshold: file.healthyThreshold ?? 1,
    unhealthyThreshold: file.unhealthyThreshold ?? 3,
    port: file.port ?? null
  }
  if (http !== undefined) {
    const { path = '/', method = 'GET', host = null, expectedStatuses = [[200, 299]] } = http
    return { kind: 'http', path, method, host, expectedStatuses, ...times }
  }
  return grpc === undefined ? { kind: 'tcp', ...times } : { kind: 'grpc', service: grpc.service ?? '', ...times }
}

const PANIC_ALONE = 'does nothing by itself: say active or ejection beside it'

const SCHEMA = atLeastOne({
  active: active().optional().describe('Addresses are checked; those that fail are left out.'),
  ejection: ejection().optional().describe('Addresses that fail requests, or are slow, are left out for a while.'),
  panicThreshold: percent()
    .optional()
    .describe('With fewer usable addresses than so many percent, all that can be reached are used. Default 50.'),
  eviction: onlyInFiles(eviction().optional()).describe('Another way to say ejection.'),
  unhealthyCondition: onlyInFiles(condition().optional()).describe('Another place of ejection.unhealthyCondition.'),
  unhealthyExpression: onlyInFiles(condition().optional()).describe('Another name of unhealthyCondition.')
})
  .check(
    together<Record<string, unknown>>(
      [],
      ({ value, issues }) => {
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
        const message = PANIC_ALONE
        issues.push({ code: 'custom', path: ['panicThreshold'], message, input: value })
      },
      cel('!has(self.panicThreshold) || has(self.active) || has(self.ejection)', {
        message: PANIC_ALONE,
        field: 'panicThreshold'
      })
    )
  )
  .meta({ id: 'BackendHealth' })

export const health = () => SCHEMA

export type FileHealth = z.output<typeof SCHEMA>

export function healthOf(file: FileHealth): HealthPlan {
  const check = file.active === undefined ? null : activeOf(file.active)
  return { active: check, ejection: ejectionOf(file), panicThreshold: file.panicThreshold ?? PANIC_PERCENT }
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
