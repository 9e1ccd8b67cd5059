/** What a request has that Google cannot be told, in the words of the format that it came in. */
import type { FormatName } from '#backends/llm/conversation.ts'
import { pathsOf } from '#backends/llm/formats/converse/paths.ts'
import { partPath, turnPath } from '#backends/llm/formats/messages/paths.ts'

const CACHE = 'cache_control'

/** A mark of a cache behind what stands at `path`. */
export function cachePath(format: FormatName, path: string): string {
  return `${path}.${format === 'converse' ? 'cachePoint' : CACHE}`
}

/** Instructions have a field of their own, or are messages among the others. */
export function systemPath(format: FormatName, i: number): string {
  return format === 'messages' || format === 'converse' ? `system[${i}]` : pathsOf(format).turns
}

export { partPath, pathsOf, turnPath }
