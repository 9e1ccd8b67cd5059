/**
 * Follows the requests that bring a good token. Only while one is good a router of its own stands before that of the
 * configuration: a worker where nothing is armed has the very router that it was given.
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

/** What is known of tokens. Times are milliseconds since 1970. */
export interface TokenCheck {
  /** The id that a token stands for, of which one use is taken; null: it is not good. */
  take(token: string, now: number): string | null
  /** When the last good token expires; 0: there is none. */
  armedUntil(now: number): number
}

export interface FollowerOptions {
  readonly tokens: TokenCheck
  /** Takes the story of an exchange that is over. */
  readonly tell: (story: Story) => void
  /** Of exchanges that get no listener, where the Runtime says nothing else. */
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

  /** Something may have been armed, used up or expired. */
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
