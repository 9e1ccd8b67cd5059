/** The accounts of a worker thread, from what the main thread has told it. */
import { AccountBook } from '#engine/accounts/account-book.ts'
import { Books } from '#engine/accounts/books.ts'
import { JournalWriter } from '#engine/accounts/journal/writer.ts'
import type { Buckets } from '#engine/contract/buckets.ts'
import type { WorkerData } from './messages.ts'

type Log = (level: 'info' | 'error', message: string) => void

export function accountsOfWorker(
  { worker, accounts: own }: Pick<WorkerData, 'worker' | 'accounts'>,
  buckets: Buckets,
  log: Log
) {
  const journal = own.journal === null ? null : new JournalWriter(own.journal, log)
  const accounts = new AccountBook({ books: new Books(own.memory), worker, journal, wallNow: Date.now }, buckets)
  accounts.change(own.known)
  return { journal, accounts }
}
