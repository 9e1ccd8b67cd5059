/** Sends one chat, and tells how its answer grows. */
import { send } from '#engine/ui/api/send.ts'
import { type Answer, grown } from './answer.ts'
import type { Chat, Format } from './formats.ts'
import type { Door } from './models.ts'

export interface Question {
  readonly door: Door
  readonly format: Format
  readonly chat: Chat
  readonly key: string
}

export async function ask(
  { door, format, chat, key }: Question,
  onGrown: (change: (before: Answer) => Answer) => void,
  signal: AbortSignal
): Promise<void> {
  const wish = {
    method: 'POST',
    url: door.url + format.path(chat),
    headers: [['content-type', 'application/json'], ...format.headers(key)] as [string, string][],
    body: JSON.stringify(format.body(chat))
  }
  try {
    await send(wish, (line) => onGrown((before) => grown(before, line, format)), signal)
  } catch (problem) {
    const failure = signal.aborted ? 'stopped' : (problem as Error).message
    onGrown((before) => ({ ...before, failure }))
  }
}
