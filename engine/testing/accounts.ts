/** The accounts of a gateway of one worker, as the main thread and the worker have them. */
import { AccountBook } from '#engine/accounts/account-book.ts'
import { Books } from '#engine/accounts/books.ts'
import type { StateFolder } from '#engine/accounts/journal/store.ts'
import { JournalWriter } from '#engine/accounts/journal/writer.ts'
import { Ledger } from '#engine/accounts/ledger.ts'
import type { ServerBooks } from '#engine/accounts/server/client.ts'
import { accountsIn } from '#engine/build/accounts.ts'
import type { Buckets } from '#engine/contract/buckets.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { policies } from '#policies/index.ts'

interface TestAccountsParts {
  readonly buckets: Buckets
  readonly state?: StateFolder
  readonly server?: ServerBooks | null
}

export class TestAccounts {
  readonly ledger: Ledger
  readonly book: AccountBook
  /** What the main thread has logged. */
  readonly logged: string[] = []
  readonly #journal: JournalWriter | null
  readonly #server: ServerBooks | null

  /** `state`: open already; its owner closes it. `server`: ends with this. */
  constructor(first: Snapshot, { buckets, state, server = null }: TestAccountsParts) {
    const place = state === undefined ? null : { path: state.path, fsync: 'no' as const }
    const log = (level: string, message: string) => this.logged.push(`${level}: ${message}`)
    this.ledger = new Ledger({
      workers: 1,
      place,
      now: Date.now,
      log,
      ...(state === undefined ? {} : { folder: state })
    })
    const { journal: own } = this.ledger.workerStarts(0)
    this.#journal = own === null ? null : new JournalWriter(own, log)
    this.#server = server
    const parts = { books: new Books(this.ledger.memory), worker: 0, journal: this.#journal, server, wallNow: Date.now }
    this.book = new AccountBook(parts, buckets)
    this.configure(first)
  }

  configure(snapshot: Snapshot): void {
    const { spec, globals } = accountsIn(snapshot, policies)
    this.book.change(this.ledger.configure(spec, globals))
  }

  change(changes: Parameters<AccountBook['change']>[0]): void {
    this.book.change(changes)
  }

  async close(): Promise<void> {
    this.#journal?.close()
    await this.#server?.close()
  }
}
