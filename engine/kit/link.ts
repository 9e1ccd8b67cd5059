/** One connection to a server, and the next one when it is lost. */
import { xorshift32 } from './random.ts'

/** Until the server is looked for again: the first time, and at most. */
const RETRY_MS = 50
const RETRY_MS_MAX = 5_000

const random = xorshift32()

interface Closable {
  close(): Promise<void>
}

export interface LinkOptions<Connection extends Closable> {
  readonly connect: (lost: (error: Error) => void) => Promise<Connection>
  /** It is there. Rejects where it is of no use. */
  readonly up: (connection: Connection) => Promise<void>
  /** Once each time: no other one could be had. */
  readonly away: (error: Error) => void
}

export class Link<Connection extends Closable> {
  /** False from when a connection could not be had until there is one again. */
  isAway = false
  #connection: Connection | null = null
  #isClosed = false
  readonly #options: LinkOptions<Connection>
  #settle: () => void = () => {}
  /** Resolves when there is the first connection, or none could be had. */
  readonly first = new Promise<void>((resolve) => {
    this.#settle = resolve
  })

  constructor(options: LinkOptions<Connection>) {
    this.#options = options
    void this.#connect(null)
  }

  /** Null: there is none at the moment. */
  get connection(): Connection | null {
    return this.#connection
  }

  /** `connection` is of no more use. */
  lose(connection: Connection, error: Error): void {
    if (this.#connection !== connection) return
    this.#connection = null
    void connection.close().catch(() => undefined)
    void this.#connect(error)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const connection = this.#connection
    this.#connection = null
    await connection?.close().catch(() => undefined)
  }

  /** `problem`: why there is none any more. */
  async #connect(problem: Error | null): Promise<void> {
    for (let pauseMs = RETRY_MS; !this.#isClosed; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
      try {
        const isThere = await this.#try()
        this.#settle()
        if (isThere) return
      } catch (error) {
        this.#settle()
        if (!this.isAway && !this.#isClosed) {
          this.isAway = true
          this.#options.away(problem ?? (error as Error))
        }
        // Half of it by chance: replicas do not come back all at once.
        await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + random() / 2)).unref())
      }
    }
  }

  async #try(): Promise<boolean> {
    let lost: Error | null = null
    let own: Connection | null = null
    const connection = await this.#options.connect((error) => {
      lost = error
      if (own !== null) this.lose(own, error)
    })
    own = connection
    try {
      await this.#options.up(connection)
      if (lost !== null) throw lost
    } catch (error) {
      void connection.close().catch(() => undefined)
      throw error
    }
    this.#connection = connection
    this.isAway = false
    if (!this.#isClosed) return true
    await this.close()
    return true
  }
}
