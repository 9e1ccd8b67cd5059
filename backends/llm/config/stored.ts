/** What providers keep for clients (docs/llm-objects.md): schema, and its form in the Snapshot. */
import type { AiStored } from '#backends/llm/config/snapshot.ts'
import { secret } from '#engine/kit/secret.ts'
import { keyMissing, z } from '#engine/schema/schema.ts'

const KEY_CHARS_MIN = 16
const KEY_CHARS_MAX = 1024

export const stored = () =>
  z
    .strictObject({
      key: z
        .string({ error: keyMissing })
        .min(KEY_CHARS_MIN, `must have at least ${KEY_CHARS_MIN} characters`)
        .max(KEY_CHARS_MAX)
        .optional()
        .describe(
          'Secret that ids are marked with: the same for all replicas. Default: made of the credential of the provider.'
        ),
      scope: z
        .enum(['key', 'team', 'all'])
        .optional()
        .describe('Who may use what a client has made: default key, clients with the same key or token alone.')
    })
    .describe('What providers keep for clients: files, batches, responses.')

export type FileStored = z.output<ReturnType<typeof stored>>

export function storedOf(file: FileStored | undefined): AiStored {
  const { key, scope = 'key' } = file ?? {}
  return { key: key === undefined ? null : secret(key), scope }
}
