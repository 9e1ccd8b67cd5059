/** Processes that are forked for a measurement and answer by messages. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** The next message of `child`. Rejects when it ends instead. */
export async function answerOf<T>(child: ChildProcess, what: string): Promise<T> {
  const cancel = new AbortController()
  const { signal } = cancel
  const message = once(child, 'message', { signal }).then(([value]) => value as T)
  const ended = once(child, 'exit', { signal }).then(([code]): T => {
    throw new Error(`${what} ended with ${code}`)
  })
  try {
    return await Promise.race([message, ended])
  } finally {
    cancel.abort()
    await Promise.allSettled([message, ended])
  }
}

/** Lets `child` end by itself. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.disconnect()
  await gone
}
