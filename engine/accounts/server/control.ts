/**
 * The main thread's side of the server: keys that any replica's API has made, writers that are gone, and what people
 * are shown of budgets.
 */

import { rmSync } from 'node:fs'
import { Link } from '#engine/kit/link.ts'
import { DEAD_MS } from './client.ts'
import { type Left, leftIn } from './journal.ts'
import type { BudgetState, Connection, Operation } from './operations.ts'

/** How late a key of another replica is known at most, and one that is revoked is still let pass. */
const LOOK_MS = 500
const REAP_MS = 2_000
const BATCH_MAX = 128

export interface ServerControlOptions {
  readonly connect: (lost: (error: Error) => void) => Promise<Connection>
  /** Calls pass while the server is away. */
  readonly isOpen: boolean
  /** Folder of facts that writers of earlier processes have left; null: there is none. */
  readonly folder: string | null
  readonly isLiving: (writer: string) => boolean
  /** Keys are others than before: name -> text. */
  readonly changed: (keys: ReadonlyMap<string, string>) => void
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void
}

export class ServerControl {
  readonly #options: ServerControlOptions
  readonly #link: Link<Connection>
  #version: string | null = null
  #timers: NodeJS.Timeout[] = []
  #isLooking = false
  #isFirst = true

  constructor(options: ServerControlOptions) {
    this.#options = options
    this.#link = new Link({
      connect: options.connect,
      up: async (connection) => await this.#up(connection),
      away: ({ message }) =>
        options.log('error', `the server of config.state.url is away (${message}); ${this.#meanwhile}`)
    })
    const every = (ms: number, act: (connection: Connection) => Promise<void>) =>
      setInterval(() => void this.#with(act), ms).unref()
    this.#timers = [
      every(LOOK_MS, async (connection) => await this.#look(connection)),
      every(REAP_MS, async (connection) => await this.#reap(connection))
    ]
  }

  /** Rejects where the server cannot be asked. */
  async budgets(ids: readonly string[]): Promise<readonly (BudgetState | null)[]> {
    return await this.#connection().budgets(ids)
  }

  /** False: it was not `before` any more. Rejects where the server cannot be asked. */
  async changeKey(name: string, before: string | null, after: string | null): Promise<boolean> {
    const connection = this.#connection()
    const isChanged = await connection.changeKey(name, before, after)
    await this.#look(connection)
    return isChanged
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#link.close()
  }

  get #meanwhile(): string {
    return this.#options.isOpen
      ? 'calls pass, and what they cost is written down here until then'
      : 'calls of keys with budgets or limits are refused until then'
  }

  #connection(): Connection {
    const { connection } = this.#link
    if (connection === null) throw new Error('the server of config.state.url is away')
    return connection
  }

  async #up(connection: Connection): Promise<void> {
    const { log } = this.#options
    if (this.#isFirst) {
      log('info', `budgets, limits and keys are shared by ${connection.about}`)
      for (const warning of connection.warnings) log('warn', `config.state.url: ${warning}`)
    } else if (this.#link.isAway) log('info', 'the server of config.state.url answers again')
    this.#isFirst = false
    await this.#look(connection)
    await this.#sendLeft(connection)
  }

  async #with(act: (connection: Connection) => Promise<void>): Promise<void> {
    const { connection } = this.#link
    if (connection === null) return
    try {
      await act(connection)
    } catch (error) {
      this.#link.lose(connection, error as Error)
    }
  }

  async #look(connection: Connection): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const version = await connection.keysVersion()
      if (version === this.#version) return
      const keys = await connection.keys()
      this.#version = version
      this.#options.changed(keys)
    } finally {
      this.#isLooking = false
    }
  }

  async #reap(connection: Connection): Promise<void> {
    const calls = await connection.reap(DEAD_MS)
    if (calls > 0)
      this.#options.log(
        'warn',
        `${calls} calls were under way at a replica that is gone: what was set aside for them counts as spent`
      )
    await this.#sendLeft(connection)
  }

  /** What writers that are gone had no time to send. */
  async #sendLeft(connection: Connection): Promise<void> {
    const { folder, isLiving, log } = this.#options
    if (folder === null) return
    for (const left of leftIn(folder, isLiving)) {
      const count = left.facts.length + left.unsettled.length
      await sendAll(connection, left)
      if (count > 0) log('info', `${count} settlements of a process that is gone are booked`)
      for (const file of left.files) rmSync(file, { force: true })
    }
  }
}

/** Numbers of what the server has already are not above its last one; estimates are of a writer of their own. */
async function sendAll(connection: Connection, { writer, facts, unsettled }: Left): Promise<void> {
  for (const [name, all] of [
    [writer, facts],
    [`${writer}!`, unsettled]
  ] as const) {
    for (let at = 0; at < all.length; at += BATCH_MAX)
      await connection.apply(name, 0, all.slice(at, at + BATCH_MAX) as readonly Operation[])
  }
}
