/** How a provider is shown who asks (spec 2.6, BackendAuth). */
import { oneOf } from '#engine/schema/choice.ts'
import { refusedKeys, z } from '#engine/schema/schema.ts'

export const auth = () =>
  oneOf({
    key: z.string().min(1).max(16_384).optional().describe('Sent in the place where the provider wants it.'),
    passthrough: z.strictObject({}).optional().describe("The client's own credential. Default."),
    ...refusedKeys('backend authentication', ['aws', 'azure', 'gcp', 'secretRef'])
  })
