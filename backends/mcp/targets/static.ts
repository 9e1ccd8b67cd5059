/** Targets as resources of Kubernetes have them: a host, a port, and the transport by its name. */

import { path } from '#engine/schema/http.ts'
import { host, port } from '#engine/schema/net.ts'
import { z } from '#engine/schema/schema.ts'
import type { TargetKey } from './kind.ts'
import { type McpHttpTarget, TRANSPORTS } from './remote.ts'

const PROTOCOLS = TRANSPORTS.map(({ protocol }) => protocol)
const DEFAULTS = TRANSPORTS.map(({ protocol, path }) => `${path} for ${protocol}`).join(', ')

const schema = (policies: z.ZodType) =>
  z
    .strictObject({
      host: host(),
      port: port(),
      path: path().optional().describe(`Default ${DEFAULTS}.`),
      protocol: z.enum(PROTOCOLS).optional().describe(`Default ${PROTOCOLS[0]}.`),
      policies: policies.optional()
    })
    .describe('One host and port.')

export const staticKey: TargetKey<McpHttpTarget> = {
  name: 'static',
  schema: (policies) => schema(policies).optional(),
  hasPolicies: true,
  translate(value: z.output<ReturnType<typeof schema>>, common, { connection }) {
    const transport = TRANSPORTS.find(({ protocol }) => protocol === value.protocol) ?? TRANSPORTS[0]
    const { auth, hasTls, configured } = connection()
    const { host, port, path = transport.path } = value
    return { ...common, kind: transport.kind, host, port, path, hasTls, ...configured, auth }
  }
}
