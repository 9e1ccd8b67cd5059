/** Where the configuration of a gateway comes from. */
import type { ConfigTexts } from '#engine/admin/api/text.ts'
import type { Published, Supervisor } from '#engine/workers/supervisor.ts'
import type { Loaded } from './control.ts'
import type { InForce } from './in-force.ts'

export interface SourceParts {
  readonly inForce: InForce
  readonly supervisor: Supervisor
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void
}

export interface SnapshotSource {
  /** The first configuration may take any time to come. */
  readonly isRemote: boolean
  /** Puts the first configuration in force; the process cannot start with one that is not. */
  first(): Promise<Published>
  /** The first is in force, and has been logged: from now on it follows changes. */
  follow(): void
  /** The user wants it to be read again. */
  reload(): void
  /** What would become of a text in its place; absent: it is no text. */
  check?(text: string): Promise<Loaded>
  /** As the admin API shows and changes it; absent: it is no text. */
  readonly texts?: ConfigTexts
  /** The process drains: nothing changes any more. */
  close(): void
}
