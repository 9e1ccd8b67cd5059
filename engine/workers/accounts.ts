/** The accounts of a worker thread, from what the main thread has told it. */
import { AccountBook } from '#engine/accounts/account-book.ts'
import { Books } from '#engine/accounts/books.ts'
import { JournalWriter } from '#engine/accounts/journal/writer.ts'
import { ObjectFile } from '#engine/accounts/objects/file.ts'
import { objectsAt } from '#engine/accounts/objects/server.ts'
import { type OwnersOperation, watchedOwners } from '#engine/accounts/objects/watched.ts'
import { serverBooks } from '#engine/accounts/server/worker.ts'
import type { StateWatch } from '#engine/contract/accounts.ts'
import type { Buckets } from '#engine/contract/buckets.ts'
import type { WorkerData } from './messages.ts'

type Log = (level: 'info' | 'error', message: string) => void

export function accountsOfWorker(
  { worker, accounts: own }: Pick<WorkerData, 'worker' | 'accounts'>,
  buckets: Buckets,
  log: Log,
  watch: { stateWatch(): StateWatch; ownersFailed(operation: OwnersOperation): void }
) {
  const journal = own.journal === null ? null : new JournalWriter(own.journal, log)
  const server = own.server === null ? null : serverBooks(own.server, log, watch.stateWatch())
  const parts = { books: new Books(own.memory), worker, journal, server, wallNow: Date.now }
  const accounts = new AccountBook(parts, buckets)
  accounts.change(own.known)
  const file = own.journal === null ? null : new ObjectFile(own.journal, Date.now)
  const kept = server === null ? file : objectsAt(server, Date.now)
  const failed = (operation: OwnersOperation): void => watch.ownersFailed(operation)
  const owners = kept === null ? null : watchedOwners(kept, { failed, log, now: () => performance.now() })
  const close = async (): Promise<void> => {
    journal?.close()
    await file?.close()
    await server?.close()
  }
  return { accounts, owners, close }
}
