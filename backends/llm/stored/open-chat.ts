/** Chats that name what a provider keeps: an answer to go on from, files, caches. */
import type { JsonObject } from '#backends/llm/conversation.ts'
import { parseAhead, parseBody } from '#backends/llm/request/json-body.ts'
import { mayRefer, References } from './references.ts'
import type { Store, StoreAccess } from './stores.ts'

export interface OpenedChat {
  /** Null: the client's own will do. */
  readonly body: JsonObject | null
  /** Null: it names nothing, or does not say where that is. */
  readonly store: Store | null
}

const NOTHING: OpenedChat = { body: null, store: null }

/** The body with the provider's own ids. Throws FormatError. */
export function openChat(bytes: Buffer, access: StoreAccess): OpenedChat {
  if (bytes.length === 0 || !mayRefer(bytes)) return NOTHING
  const body = parseBody(bytes)
  const references = new References(access)
  const opened = references.openBody(body)
  return { body: opened === body ? null : opened, store: references.store }
}

/** As openChat, printed; what was parsed is kept with the bytes. */
export function openChatBytes(
  bytes: Buffer,
  access: StoreAccess
): { readonly bytes: Buffer; readonly store: Store | null } {
  const { body, store } = openChat(bytes, access)
  if (body === null) return { bytes, store }
  const opened = Buffer.from(JSON.stringify(body))
  parseAhead(opened)
  return { bytes: opened, store }
}
