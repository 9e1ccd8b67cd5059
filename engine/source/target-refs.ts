/** `targetRefs`: where a set of policies applies (docs/specification.md#attachment-and-merging). Schema. */
import { list, name, refused, refusedKeys, says, z } from '#engine/schema/schema.ts'

/** docs/specification.md#attachment-and-merging. */
const TARGETS_MAX = 16
const KINDS = ['Gateway', 'HTTPRoute', 'Route', 'GatewayBackend', 'Backend'] as const

const targetRef = () =>
  z
    .strictObject({
      kind: z.enum(KINDS, { error: says('must be Gateway, HTTPRoute (or Route), GatewayBackend (or Backend)') }),
      name: name().optional().describe('Of the route or the backend.'),
      sectionName: name()
        .optional()
        .describe("A listener of the gateway, a route's ruleName, or a provider or MCP target of a backend."),
      ...refusedKeys('target setting', ['group', 'namespace', 'port'])
    })
    .refine(({ kind, name }) => kind === 'Gateway' || name !== undefined, { path: ['name'], error: 'is required' })
    .refine(({ kind, name }) => kind !== 'Gateway' || name === undefined, {
      path: ['name'],
      error: 'a file is one gateway, which has no name: leave it out'
    })

export const targetRefs = () =>
  list(targetRef(), 1, TARGETS_MAX).optional().describe('What these policies are for. Default: the whole gateway.')

/** Keys of a set beside those of policies; check-policies.ts reports sets that do not stand at the top. */
export const targetKeys = () => ({
  targetRefs: targetRefs(),
  targetSelectors: refused("policies by 'targetSelectors'", 'a file names its targets: targetRefs')
})

export type Target = z.output<ReturnType<typeof targetRef>>
