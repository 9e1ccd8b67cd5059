/**
 * Requests that policies and backends make beside exchanges, over the platform's own client: keys, tokens, guards at
 * URLs. Where a request is only explained they are not made, and who explains it is told of them.
 */

type QuestionListener = (question: string) => void

/** Of this thread. */
let hear: QuestionListener | null = null

/** From now on nothing is sent, and `listener` hears what would be; null: all is as ever. */
export function sendNothing(listener: QuestionListener | null): void {
  hear = listener
}

/** Whether `question` is not to be sent: it has been told instead. */
export function isKeptBack(question: string): boolean {
  if (hear === null) return false
  hear(question)
  return true
}

/** As fetch; what is not sent has no answer. */
export const outboundFetch: typeof fetch = (input, init) => {
  if (hear === null) return fetch(input, init)
  const { origin, pathname } = new URL(input instanceof Request ? input.url : input)
  hear(`${init?.method ?? 'GET'} ${origin}${pathname}`)
  return new Promise(() => {})
}
