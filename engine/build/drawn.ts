/**
 * Routes with backends that are asked for by policies which take time (Policy.atReferences: 'waits'): the backend is
 * drawn behind the policies of the route, the hooks of its reference run, and then the exchange is sent to it.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, STOP, type Verdict } from '#engine/contract/filter.ts'
import type { HookOwner, HookOwners } from '#engine/contract/route.ts'
import { Slot } from '#engine/contract/slot.ts'
import { FOLLOWED } from '#engine/contract/tracing.ts'
import { xorshift32 } from '#engine/kit/random.ts'
import type { Hooks } from './policies.ts'
import { type Choice, isUsable } from './weighted.ts'

/** `waiting`: of its reference; null: none. */
export interface WaitingChoice extends Choice {
  readonly waiting: Hooks | null
}

export interface Drawing {
  /** The last one of the route's. */
  readonly requestHook: Hook
  /** The first one of the route's. */
  readonly responseHook: Hook
  readonly serve: (ex: Exchange) => void
}

const DRAWN = new Slot<WaitingChoice>()

/** Null: no reference waits. `random`: 0 <= x < 1. */
export function drawing(choices: readonly WaitingChoice[], random = xorshift32()): Drawing | null {
  if (choices.every(({ waiting }) => waiting === null)) return null
  const draw = drawnFrom(choices, random)
  return {
    // --- request time ---
    requestHook(ex) {
      const choice = draw()
      DRAWN.set(ex, choice)
      if (choices.length > 1) FOLLOWED.get(ex)?.backendDrawn(choices, choice)
      return run(ex, choice.waiting?.requestHooks ?? null)
    },
    responseHook: (ex) => (ex.slots === null ? CONTINUE : run(ex, DRAWN.get(ex)?.waiting?.responseHooks ?? null)),
    // What has been asked for one backend means nothing to another: further attempts stay.
    serve: (ex) => DRAWN.get(ex)!.serve(ex)
  }
}

const OWNER: HookOwner = { name: 'backends' }

/** Hooks of a route, with those of `drawing` and their owners. */
export function withDrawing(hooks: Hooks, { requestHook, responseHook }: Drawing): Hooks {
  const { request, response } = hooks.hookOwners
  const hookOwners: HookOwners = { request: [...request, OWNER], response: [OWNER, ...response] }
  return {
    requestHooks: [...(hooks.requestHooks ?? []), requestHook],
    responseHooks: [responseHook, ...(hooks.responseHooks ?? [])],
    hookOwners
  }
}

function run(ex: Exchange, hooks: readonly Hook[] | null, first = 0): Verdict | Promise<Verdict> {
  for (let i = first; hooks !== null && i < hooks.length; i++) {
    const verdict = hooks[i]!(ex)
    if (typeof verdict !== 'number') return verdict.then((decided) => (decided === STOP ? STOP : run(ex, hooks, i + 1)))
    if (verdict === STOP) return STOP
  }
  return CONTINUE
}

/**
 * By weight, at random, among what can be reached, or among all. Not by turns, as of backends that answer alike: who
 * asks in a rhythm for what one pool has would always meet the other.
 */
export function drawnFrom<T extends Choice>(choices: readonly T[], random: () => number): () => T {
  return () => {
    const usable = choices.filter(isUsable)
    const among = usable.length > 0 ? usable : choices
    let rest = random() * among.reduce((sum, { weight }) => sum + weight, 0)
    for (const choice of among) {
      rest -= choice.weight
      if (rest < 0) return choice
    }
    return among.at(-1)!
  }
}
