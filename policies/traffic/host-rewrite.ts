/** spec.traffic.hostRewrite: whether the Host sent upstream is the destination's or the client's. */
import type { Compiled, Policy } from '#engine/contract/policy.ts'
import { z } from '#engine/schema/schema.ts'

const schema = z.enum(['Auto', 'None'])

// --- build time ---

function compile(config: z.output<typeof schema>): Compiled {
  return { settings: { hostRewrite: config === 'Auto' ? 'auto' : 'none' } }
}

export const hostRewrite: Policy = { name: 'hostRewrite', section: 'traffic', schema, aliases: [], compile }
