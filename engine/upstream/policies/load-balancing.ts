/** The policy `loadBalancing` of backends: which of their addresses gets a request. */

import { REQUEST_HEAD_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import type { LoadBalancing } from '#engine/contract/resilience.ts'
import { cels } from '#engine/schema/rule.ts'
import { refusedKeys, whole, z } from '#engine/schema/schema.ts'
import { together } from '#engine/schema/together.ts'

/** Of Envoy: an address cannot be kept below the mean. */
const FACTOR_MIN = 101
const FACTOR_MAX = 10_000

interface Fields {
  readonly policy: LoadBalancing['policy']
  readonly hash?: string | undefined
  readonly hashBalanceFactor?: number | undefined
}

const NO_HASH = 'needs hash beside it, such as request.headers["x-user"]'

const IN_RESOURCES = cels(
  { expression: "self.policy != 'ConsistentHash' || has(self.hash)", message: NO_HASH, field: 'policy' },
  ...['hash', 'hashBalanceFactor'].map((field) => ({
    expression: `!has(self.${field}) || self.policy == 'ConsistentHash'`,
    message: 'is for the policy ConsistentHash',
    field
  }))
)

const SCHEMA = z
  .strictObject({
    policy: z
      .enum(['RoundRobin', 'LeastRequest', 'Random', 'ConsistentHash'])
      .describe(
        'LeastRequest: the one with less under way of two. ConsistentHash: always the same one for what has the same hash.'
      ),
    hash: expression(REQUEST_HEAD_ROOTS)
      .optional()
      .describe('Of ConsistentHash: what the requests of one address have in common. Without a value: any address.'),
    hashBalanceFactor: whole(FACTOR_MIN, FACTOR_MAX)
      .optional()
      .describe('Of ConsistentHash: an address takes so many percent of the mean load at most. Default: no limit.'),
    ...refusedKeys('load balancing setting', ['slowStart', 'zoneAware', 'localityWeights'])
  })
  .check(
    together<Fields>(
      [],
      ({ value, issues }) => {
        const { policy, hash, hashBalanceFactor } = value
        const report = (path: keyof Fields, message: string) =>
          issues.push({ code: 'custom', path: [path], message, input: value })
        if (policy === 'ConsistentHash' && hash === undefined) {
          report('policy', NO_HASH)
        }
        if (policy === 'ConsistentHash') return
        if (hash !== undefined) report('hash', `is for the policy ConsistentHash, and this is ${policy}`)
        if (hashBalanceFactor !== undefined) {
          report('hashBalanceFactor', `is for the policy ConsistentHash, and this is ${policy}`)
        }
      },
      IN_RESOURCES
    )
  )
  .meta({ id: 'LoadBalancing' })

export const loadBalancing = () => SCHEMA

export type FileLoadBalancing = z.output<typeof SCHEMA>

export function loadBalancingOf({ policy, hash, hashBalanceFactor }: FileLoadBalancing): LoadBalancing {
  return { policy, hash: hash ?? null, hashBalanceFactor: hashBalanceFactor ?? null }
}
