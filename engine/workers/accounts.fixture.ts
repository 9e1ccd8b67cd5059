/** For tests of workers without accounts. */
import { createBooks } from '#engine/accounts/books.ts'
import type { WorkerAccounts } from './messages.ts'

export const noAccounts = (worker: number): WorkerAccounts => ({
  memory: createBooks(worker + 1),
  journal: null,
  server: null,
  known: { accounts: [], keys: [], goneAccounts: [], goneKeys: [], isComplete: true }
})
