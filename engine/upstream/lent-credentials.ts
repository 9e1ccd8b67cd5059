/**
 * Whose credentials the checks of one endpoint show. Backends with different `auth` that ask the same server by the
 * same rules share its checks, and a server is well when it takes the credentials of one of them.
 */

import type { Background } from '#engine/contract/background.ts'
import type { CheckCredentials } from '#engine/contract/check-credentials.ts'

export class LentCredentials {
  /** Of the backends in force that show any. The last one's are shown. */
  readonly #lent: CheckCredentials[] = []

  /** Null: nobody shows any. */
  get shown(): CheckCredentials | null {
    return this.#lent.at(-1) ?? null
  }

  /** Lends them while a configuration that has them is in force. Null: its backend shows none. */
  of(credentials: CheckCredentials | null): Background {
    if (credentials === null) return NOTHING
    return {
      begin: () => void this.#lent.push(credentials),
      end: () => {
        const at = this.#lent.indexOf(credentials)
        if (at >= 0) this.#lent.splice(at, 1)
      }
    }
  }

  /** The server did not take `credentials`: those of the next backend are shown from now on. */
  refused(credentials: CheckCredentials): void {
    credentials.refused()
    // Another check may have found out before.
    if (this.shown === credentials) this.#lent.unshift(this.#lent.pop()!)
  }
}

const NOTHING: Background = { begin() {}, end() {} }
