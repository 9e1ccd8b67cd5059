/** Answers that are kept for equal requests (docs/routing.md): schema, and its form in the Snapshot. */
import type { AiCache } from '#backends/llm/config/snapshot.ts'
import { REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import { duration } from '#engine/schema/duration.ts'
import { refusedKeys, whole, z } from '#engine/schema/schema.ts'

const MIB = 1024 * 1024
const SIZE_DEFAULT = 64 * MIB
const ENTRY_DEFAULT = MIB
const SIZE_MAX = 16_384 * MIB

export const cache = () =>
  z
    .strictObject({
      ttl: duration()
        .refine((ms) => ms > 0, 'must be more than 0')
        .describe('How long an answer is good.'),
      scope: z
        .enum(['key', 'team', 'all'])
        .optional()
        .describe('Who gets the answer of another: default key, clients with the same key or token alone.'),
      key: expression(REQUEST_ROOTS)
        .optional()
        .describe('What equal requests have in common beside scope, format and model. Default: the whole body.'),
      maxSize: whole(1, SIZE_MAX).optional().describe('Bytes kept by each worker thread. Default 64 MiB.'),
      maxEntrySize: whole(1, SIZE_MAX).optional().describe('Of one answer. Default 1 MiB.'),
      toolCalls: z
        .boolean()
        .optional()
        .describe('Also answers that call tools. Default false: a call may do something.'),
      ...refusedKeys('cache setting', ['redis', 'url', 'semantic'])
    })
    .describe('Answers that are kept for equal requests.')

export interface FileCache {
  readonly ttl: number
  readonly scope?: AiCache['scope'] | undefined
  readonly key?: string | undefined
  readonly maxSize?: number | undefined
  readonly maxEntrySize?: number | undefined
  readonly toolCalls?: boolean | undefined
}

export function cacheOf(file: FileCache | undefined): AiCache | undefined {
  if (file === undefined) return undefined
  const { ttl, scope = 'key', key = null, maxSize = SIZE_DEFAULT, maxEntrySize = ENTRY_DEFAULT } = file
  return {
    ttlMs: ttl,
    scope,
    key,
    bytesMax: maxSize,
    entryBytesMax: Math.min(maxEntrySize, maxSize),
    keepsToolCalls: file.toolCalls ?? false
  }
}
