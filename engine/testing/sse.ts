/** Server-sent events of a whole text, for tests that read streams. */
import { type SseEvent, SseReader } from '#engine/http/sse.ts'

export function parseEvents(text: string): SseEvent[] {
  const bytes = Buffer.from(text)
  const events: SseEvent[] = []
  new SseReader().push(bytes, 0, bytes.length, events)
  return events
}
