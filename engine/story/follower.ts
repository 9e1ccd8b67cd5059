/**
 * Follows requests that bring a valid token. A router of its own wraps that of the configuration only while a token is
 * valid, so a worker without one routes as if this did not exist.
 */
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Hook, Verdict } from '#engine/contract/filter.ts'
import type { HookOwner, Recorder, Router } from '#engine/contract/route.ts'
import { FOLLOWED } from '#engine/contract/tracing.ts'
import { traceTokenOf } from '#engine/http/trace-header.ts'
import type { Story } from './story.ts'
import { StoryWriter } from './story-writer.ts'
import { type Side, type Watch, WatchedRoutes } from './watch.ts'

/** Tokens in memory that all workers share. Times are milliseconds since 1970. */
export interface TokenCheck {
  /** Takes one use of `token` and returns its id; null: it is not valid. */
  take(token: string, now: number): string | null
  /** When the last valid token expires; 0: there is none. */
  armedUntil(now: number): number
}

export interface FollowerOptions {
  readonly tokens: TokenCheck
  /** Takes the story of an exchange that is over. */
  readonly tell: (story: Story) => void
  /** Records exchanges without a listener, where the Runtime has no recorder for them. */
  readonly unrouted: Recorder
}

export class Follower implements Watch {
  /** What exchanges are routed by. */
  router: Router
  #runtime: Router
  #timer: NodeJS.Timeout | undefined
  readonly #options: FollowerOptions
  readonly #watched = new WatchedRoutes(this)

  constructor(runtime: Router, options: FollowerOptions) {
    this.#runtime = runtime
    this.router = runtime
    this.#options = options
  }

  /** `runtime` is in force from now on. */
  replace(runtime: Router): void {
    this.#runtime = runtime
    this.look()
  }

  /** Called when a token may have been armed, used up or expired. */
  look(): void {
    const now = Date.now()
    const until = this.#options.tokens.armedUntil(now)
    clearTimeout(this.#timer)
    this.router = until === 0 ? this.#runtime : this.#following(this.#runtime)
    if (until > 0) this.#timer = setTimeout(() => this.look(), until - now).unref()
  }

  #following(runtime: Router): Router {
    const { tokens, unrouted } = this.#options
    return {
      ...runtime,
      route: (ex) => {
        const token = traceTokenOf(ex.request)
        const id = token === null ? null : tokens.take(token, Date.now())
        const code = runtime.route(ex)
        if (id !== null) this.#begin(ex, id, code)
        return code
      },
      unrouted: {
        record: (ex) => {
          ;(runtime.unrouted ?? unrouted).record(ex)
          this.over(ex)
        }
      }
    }
  }

  #begin(ex: Exchange, id: string, code: ErrorCode | null): void {
    FOLLOWED.set(ex, new StoryWriter(ex, id))
    this.#watched.begin(ex, code)
    // It may have been the last use.
    this.look()
  }

  hook(ex: Exchange, owner: HookOwner, side: Side, hook: Hook): Verdict | Promise<Verdict> {
    return writerOf(ex)?.hook(owner, side, hook) ?? hook(ex)
  }

  routed(ex: Exchange, code: ErrorCode | null): void {
    writerOf(ex)?.routed(code)
  }

  serving(): void {
    // Its attempts tell more.
  }

  over(ex: Exchange): void {
    const writer = writerOf(ex)
    if (writer !== null) this.#options.tell(writer.end())
  }
}

/** Only #begin sets the slot. */
const writerOf = (ex: Exchange): StoryWriter | null => FOLLOWED.get(ex) as StoryWriter | null
