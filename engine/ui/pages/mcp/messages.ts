/** JSON-RPC as an MCP server answers: one message as JSON, or several as events. */
import { eventsIn } from '#engine/ui/api/lines.ts'

export interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Json
  readonly result?: Json
  readonly error?: { readonly code: number; readonly message: string }
}
export type Json = Readonly<Record<string, unknown>>

export interface Inbox {
  readonly isEvents: boolean
  readonly rest: string
}

/** Messages that are whole in what has come. JSON is whole at its end: `isOver`. */
export function received(
  inbox: Inbox,
  text: string,
  isOver = false
): { readonly inbox: Inbox; readonly messages: readonly Message[] } {
  const come = inbox.rest + text
  if (inbox.isEvents) {
    const { events, rest } = eventsIn(isOver ? `${come}\n\n` : come)
    return { inbox: { ...inbox, rest }, messages: events.flatMap(messageOf) }
  }
  if (!isOver) return { inbox: { ...inbox, rest: come }, messages: [] }
  return { inbox: { ...inbox, rest: '' }, messages: messageOf(come) }
}

function messageOf(text: string): Message[] {
  if (text.trim() === '') return []
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : [value as Message]
  } catch {
    return []
  }
}

/** What a server asks a client for. */
export interface Question {
  readonly id: number | string
  readonly kind: 'elicitation' | 'sampling' | 'other'
  readonly method: string
  readonly params: Json
}

/** Null: it is no question. */
export function questionIn({ id, method, params = {} }: Message): Question | null {
  if (id === undefined || method === undefined) return null
  const kind =
    method === 'elicitation/create' ? 'elicitation' : method === 'sampling/createMessage' ? 'sampling' : 'other'
  return { id, kind, method, params }
}

/** Text of what a tool, a resource or a prompt has outcome; what is no text is named. */
export function contentText(result: Json): string {
  const { content, contents, messages } = result as { readonly [name: string]: unknown }
  const parts = [content, contents, messages].flatMap((list) => (Array.isArray(list) ? (list as Json[]) : []))
  return parts.map(partText).join('\n')
}

function partText(part: Json): string {
  const inner = typeof part.content === 'object' && part.content !== null ? (part.content as Json) : part
  const prefix = typeof part.role === 'string' ? `${part.role}: ` : ''
  if (typeof inner.text === 'string') return prefix + inner.text
  const type = [inner.type, inner.mimeType, inner.uri].filter((word) => typeof word === 'string').join(' ')
  return `${prefix}[${type === '' ? 'no text' : type}]`
}
