/** A line for each change by the admin port: who, what, from where, and how it ended. No body, and so no secret. */
import { LineBudget } from '#engine/kit/line-budget.ts'
import { shownTarget } from '#engine/story/shown.ts'
import type { Request } from './server.ts'
import type { Caller } from './who.ts'

/** `fields` of a line, beside its text. */
export type Audit = (level: 'info' | 'warn', message: string, fields: Readonly<Record<string, string | number>>) => void

/** Of callers who are refused: somebody who tries tokens would fill the log. */
const REFUSED_MAX = 20
const WINDOW_MS = 60_000

export class AuditLog {
  readonly #write: Audit
  readonly #budget: LineBudget

  constructor(write: Audit = () => {}) {
    this.#write = write
    this.#budget = new LineBudget(REFUSED_MAX, WINDOW_MS, (leftOut) =>
      write('warn', `${leftOut} more requests were refused`, {})
    )
  }

  /** `operation`: its id; absent: the path is one of other gateways. */
  changed(request: Request, { name }: Caller, operation: string | undefined, status: number): void {
    const what = operation ?? request.path
    this.#write('info', `${name}: ${what}`, { who: name, what, ...whereOf(request), status })
  }

  refused(request: Request, status: number): void {
    if (!this.#budget.take(performance.now())) return
    this.#write('warn', 'a request was refused', { ...whereOf(request), status })
  }
}

const whereOf = ({ method, path, from = 'unix socket' }: Request) => ({ method, path: shownTarget(path), from })
