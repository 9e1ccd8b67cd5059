/** Names of tools. */
import { createHash } from 'node:crypto'

/**
 * Models and their SDKs accept 64 letters, digits, "_" and "-" (functions of OpenAI, tools of Anthropic), though MCP
 * allows 128 and "." (revision 2025-11-25, server/tools).
 */
const CHARS_MAX = 64
const DIGEST_CHARS = 8
/** Characters of an operationId that are read: it may be of any length. */
const READ_CHARS_MAX = 512

/** The operationId, else METHOD_path. Duplicates get a digest of the operation, which is stable, and not a number. */
export function toolName(id: unknown, method: string, path: string, taken: ReadonlyMap<string, unknown>): string {
  const operationId = typeof id === 'string' ? id.slice(0, READ_CHARS_MAX) : ''
  const name = operationId.trim() !== '' ? operationId : `${method.toUpperCase()}${path}`
  const clean = name.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^_+|_+$/g, '') || method
  if (clean.length <= CHARS_MAX && !taken.has(clean)) return clean
  const digest = createHash('sha256').update(`${method} ${path}`).digest('hex').slice(0, DIGEST_CHARS)
  return `${clean.slice(0, CHARS_MAX - DIGEST_CHARS - 1)}_${digest}`
}
