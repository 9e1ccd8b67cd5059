/** What a service says of an exchange, for expressions: `extproc`. */
import { EXT_PROC } from '#engine/cel/exchange.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { isDeep } from '#engine/kit/depth.ts'
import { METADATA_DEPTH_MAX } from '#policies/shared/metadata-depth.ts'

/** Of all messages of an exchange, as JSON. */
const METADATA_CHARS_MAX = 64 * 1024

/** Later messages replace namespaces of earlier ones. A text says why it cannot be kept. */
export function keepMetadata(ex: Exchange, metadata: Readonly<Record<string, unknown>> | undefined): string | null {
  if (metadata === undefined) return null
  if (isDeep(metadata, METADATA_DEPTH_MAX)) return 'its dynamic metadata is too deep'
  const all = { ...EXT_PROC.get(ex), ...metadata }
  if (JSON.stringify(all).length > METADATA_CHARS_MAX) return 'its dynamic metadata is too long'
  EXT_PROC.set(ex, all)
  return null
}
