/** The thread of the spend log: takes batches, answers queries, removes what is old. One message after the other. */
import type { MessagePort } from 'node:worker_threads'
import type { SpendLogSpec } from '#engine/contract/spend.ts'
import { answerQuery, type SpendReply } from './answers.ts'
import type { SpendQuery } from './query.ts'
import type { Row } from './record.ts'
import { SpendStore } from './store.ts'

export type ToSpendThread =
  /** First of all. Answered by `open` or `failed`. */
  | { readonly kind: 'open'; readonly spec: SpendLogSpec }
  /** Rows of a worker, as JSON. Answered by `taken`. */
  | { readonly kind: 'rows'; readonly worker: number; readonly count: number; readonly rows: string }
  | { readonly kind: 'query'; readonly id: number; readonly query: SpendQuery }
  /** Last of all: answered by `closed`. */
  | { readonly kind: 'close' }

export type FromSpendThread =
  | { readonly kind: 'open' }
  | { readonly kind: 'failed'; readonly message: string }
  /** `kept`: rows that are in the file; `problem`: why others are not. */
  | {
      readonly kind: 'taken'
      readonly worker: number
      readonly count: number
      readonly kept: number
      readonly problem: string | null
    }
  | { readonly kind: 'answer'; readonly id: number; readonly reply: SpendReply }
  | { readonly kind: 'noAnswer'; readonly id: number; readonly message: string }
  | { readonly kind: 'closed' }

/** How often it is looked for what is too old or too much, and between two slices of that. */
const PRUNE_MS = 60_000
const SLICE_MS = 50

export function serveSpendLog(port: MessagePort): void {
  let store: SpendStore | null = null
  let timer: NodeJS.Timeout | null = null
  const post = (message: FromSpendThread) => port.postMessage(message)

  const prune = (): void => {
    let hasMore = false
    try {
      hasMore = store!.prune(Date.now())
    } catch {
      // A disk that is full, or another process that writes: it is tried again, and batches tell of it.
    }
    timer = setTimeout(prune, hasMore ? SLICE_MS : PRUNE_MS)
  }

  const open = async (spec: SpendLogSpec): Promise<void> => {
    try {
      store = await SpendStore.open(spec)
      post({ kind: 'open' })
      prune()
    } catch (error) {
      post({ kind: 'failed', message: (error as Error).message })
    }
  }

  port.on('message', (message: ToSpendThread) => {
    if (message.kind === 'open') void open(message.spec)
    else if (message.kind === 'rows') post(take(store!, message))
    else if (message.kind === 'query') post(answer(store!, message))
    else {
      if (timer !== null) clearTimeout(timer)
      store?.close()
      post({ kind: 'closed' })
      port.close()
    }
  })
}

function take(store: SpendStore, { worker, count, rows }: ToSpendThread & { kind: 'rows' }): FromSpendThread {
  try {
    store.append(JSON.parse(rows) as readonly Row[])
    return { kind: 'taken', worker, count, kept: count, problem: null }
  } catch (error) {
    return { kind: 'taken', worker, count, kept: 0, problem: (error as Error).message }
  }
}

function answer(store: SpendStore, { id, query }: ToSpendThread & { kind: 'query' }): FromSpendThread {
  try {
    return { kind: 'answer', id, reply: answerQuery(store.database, query, store.keepsPrompts) }
  } catch (error) {
    return { kind: 'noAnswer', id, message: (error as Error).message }
  }
}
