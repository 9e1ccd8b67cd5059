/** A request through the gateway (POST /api/v1/send), line by line as its answer comes. */
import type { SentLine } from '#engine/admin/api/send.ts'
import { ApiFailure, failureOf, fetchMarked, type Input, urlOf } from './client.ts'
import { linesIn } from './lines.ts'

export type Wish = NonNullable<Input<'sendRequest'>['body']>

/** Rejects with an ApiFailure if the admin API refuses; how the gateway answers is in the lines. */
export async function send(body: Wish, onLine: (line: SentLine) => void, signal: AbortSignal): Promise<void> {
  const response = await fetchMarked(urlOf('sendRequest'), {
    ...{ method: 'POST', signal, cache: 'no-store', credentials: 'same-origin' },
    body: JSON.stringify(body)
  })
  if (!response.ok || response.body === null) throw failureOf(response.status, await response.text())
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read().catch((problem: unknown) => {
      if (signal.aborted) throw problem
      throw new ApiFailure(0, 'UNREACHABLE', 'the admin port does not answer any more')
    })
    if (done) return
    const read = linesIn(rest + value)
    rest = read.rest
    for (const line of read.lines) onLine(JSON.parse(line) as SentLine)
  }
}
