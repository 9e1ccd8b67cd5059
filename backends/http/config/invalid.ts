/** What a translation of resources writes for a reference that cannot be followed. */
import type { InvalidBackend } from '#backends/http/config/snapshot.ts'
import type { BackendConfig } from '#engine/contract/backend-config.ts'
import { port } from '#engine/schema/net.ts'
import { longString, z } from '#engine/schema/schema.ts'
import { staticConfig } from './plain.ts'

const schema = z.strictObject({
  reference: longString().describe('What is referred to: "Service demo/shop".'),
  reason: longString().describe('Why it cannot be reached: "BackendNotFound".'),
  unread: z
    .strictObject({ host: longString(), port: port() })
    .optional()
    .describe('Where bytes of TCP go all the same that are passed on unread: only what Weir secures cannot be reached.')
})

const invalid = () => schema.optional().describe('Answers 500, because what is referred to cannot be reached.')

export const invalidConfig: BackendConfig = {
  // Policies around it are about the server that would be there.
  isPlain: true,
  policies: staticConfig.policies,
  isTranslated: true,
  keys: [{ name: 'invalid', schema: invalid(), isAlias: true, isNamedOnly: true }],
  translate: (_key, { reference, reason, unread }: z.output<typeof schema>, { policies }): InvalidBackend => ({
    kind: 'invalid',
    reference,
    reason,
    unread: unread ?? null,
    policies
  }),
  differs: () => false
}
