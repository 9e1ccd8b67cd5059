/** The origin of a conversation as the reader of `format` makes it, for tests of writers. */
import type { ClientFormat, Json, RequestOrigin } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'

export function requestOrigin(
  format: ClientFormat,
  unknownFields: ReadonlyMap<string, Json> = new Map()
): RequestOrigin {
  return { format, unknownFields, paths: FORMATS[format].paths }
}
