/** Policy `tcp` of a file, for backends (docs/specification.md#backend-connections). */

import type { BackendTcp } from '#engine/contract/backend-transport/transport.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { duration, positiveDuration } from '#engine/schema/duration.ts'
import { cel, ONLY_FILES } from '#engine/schema/rule.ts'
import { refusedKeys, z } from '#engine/schema/schema.ts'
import { describedInResources, filledIn, onlyInFiles } from '#engine/schema/spelling.ts'
import { together } from '#engine/schema/together.ts'

/** docs/specification.md#frontend-policies. */
const KEEPALIVE_MS = 180_000

/** Node lets a program set the idle time only; retries and interval are refused, not ignored. */
const keepalive = () =>
  z.strictObject({
    time: filledIn(
      duration().refine((ms) => ms === 0 || ms >= 1000, {
        error: 'must be 0s or at least 1s, the unit of TCP keepalive',
        params: cel("duration(self) == duration('0s') || duration(self) >= duration('1s')")
      }),
      '180s'
    )
      .optional()
      .describe('Idle time before the first probe; 0s sends none. Default 180s.'),
    ...refusedKeys('TCP setting', ['enabled', 'retries', 'interval'])
  })

const PROBES = "TCP keepalive probes. Default: the system's."

const SCHEMA = atLeastOne({
  connectTimeout: positiveDuration('must be longer than 0')
    .optional()
    .describe('Longest time to connect, TLS included. Default: config.upstream.connectTimeout, which is 10s.'),
  keepalives: onlyInFiles(keepalive().optional()).describe(PROBES),
  keepalive: describedInResources(keepalive().optional(), PROBES).describe('Another name of keepalives.'),
  proxyProtocol: z
    .enum(['v1', 'v2'])
    .optional()
    .describe(
      'Plain servers are told who the client is: a PROXY header of this version before the first byte. Each client has connections of its own then.'
    )
})
  .check(
    together<{ readonly keepalives?: unknown; readonly keepalive?: unknown }>(
      [],
      ({ value, issues }) => {
        if (value.keepalives === undefined || value.keepalive === undefined) return
        const message = 'says again what keepalives says: keep one of them'
        issues.push({ code: 'custom', path: ['keepalive'], message, input: value })
      },
      ONLY_FILES
    )
  )
  .meta({ id: 'BackendTcp' })

export const backendTcp = () => SCHEMA

export type FileTcp = z.output<typeof SCHEMA>

export function tcpOf(file: FileTcp): BackendTcp {
  const probes = file.keepalives ?? file.keepalive
  const keepaliveMs = probes === undefined ? null : (probes.time ?? KEEPALIVE_MS)
  return { connectTimeoutMs: file.connectTimeout ?? null, keepaliveMs, proxyProtocol: file.proxyProtocol ?? null }
}
