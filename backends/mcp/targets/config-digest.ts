import { createHash } from 'node:crypto'
import type { McpTarget } from '#backends/mcp/config/snapshot.ts'

const digests = new WeakMap<McpTarget, string>()

/**
 * A digest of everything that decides which server a target is and what that is sent: targets with equal digests share
 * sessions and caches. Rules are not part of it: they are evaluated for each request. Secrets are only hashed;
 * documents of megabytes are hashed once.
 */
export function configDigest(target: McpTarget): string {
  const known = digests.get(target)
  if (known !== undefined) return known
  const { authorization: _, ...settings } = target
  const digest = createHash('sha256').update(JSON.stringify(settings)).digest('base64url')
  digests.set(target, digest)
  return digest
}
