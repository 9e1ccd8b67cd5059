/** The server's books for one worker thread. */

import type { JournalPlace } from '#engine/accounts/journal/writer.ts'
import type { StateServerSpec, StateWatch } from '#engine/contract/accounts.ts'
import { ServerBooks } from './client.ts'
import { connectTo } from './connect.ts'
import { FactJournal } from './journal.ts'

/** Plain data, for a thread. */
export interface ServerPlace {
  readonly spec: StateServerSpec
  /** Nobody had it before. */
  readonly writer: string
  /** Where facts are written down that the server may not have; null: nowhere. */
  readonly folder: JournalPlace | null
}

export function serverBooks(
  { spec, writer, folder }: ServerPlace,
  log: (level: 'info' | 'error', message: string) => void,
  watch: StateWatch
): ServerBooks {
  const { isOpen, timeoutMs } = spec
  const journal = folder === null ? null : new FactJournal({ folder: folder.folder, writer, fsync: folder.fsync }, log)
  return new ServerBooks({
    ...{ writer, isOpen, timeoutMs, journal, watch },
    connect: async (lost) => await connectTo(spec, lost)
  })
}
