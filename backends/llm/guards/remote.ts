/**
 * Calls of guards that are services. They go through Node's own client and its pool of connections, not through the
 * engine's upstream client, which carries exchanges and their bodies as streams (docs/design/017-prompt-guards.md).
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'

/** The answer may hold all texts again, and be masked: longer ones are none. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** Of one exchange. */
export interface Call {
  /** As the client sent them: those of the exchange have the key of a provider, once it has been asked. */
  readonly fields: HeaderBlock
  /** Set off when the client has gone. */
  readonly signal: AbortSignal
}

/** The service cannot be reached, is too slow, or answers what is no answer. Nothing of it is told. */
export class GuardDown extends Error {}

export interface Post {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: unknown
  readonly timeoutMs: number
}

/** The JSON that is answered. Rejects with GuardDown. */
export async function post({ url, headers, body, timeoutMs }: Post, { signal }: Call): Promise<unknown> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      redirect: 'manual'
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new GuardDown('the guard answers with an error')
    }
    return JSON.parse(await textOf(response))
  } catch (error) {
    if (error instanceof GuardDown) throw error
    throw new GuardDown('the guard cannot be asked', { cause: error })
  }
}

async function textOf({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  if (body !== null) {
    for await (const piece of body) {
      bytes += piece.length
      if (bytes > ANSWER_BYTES_MAX) throw new GuardDown('the answer of the guard is too long')
      pieces.push(piece)
    }
  }
  return Buffer.concat(pieces).toString()
}

/** Runs `work` with a signal that is set off when `ex` is over before it is done. */
export async function whileOpen<T>(ex: Exchange, fields: HeaderBlock, work: (call: Call) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const { onOver } = ex
  ex.onOver = (over) => {
    controller.abort()
    onOver?.(over)
  }
  try {
    return await work({ fields, signal: controller.signal })
  } finally {
    ex.onOver = onOver
  }
}
