/**
 * What is fetched to authenticate is kept over reloads, as long as a configuration in force uses it: a reload is no
 * reason to ask a token endpoint again, and an account that has left the configuration is not asked for any more.
 */
import type { BackendContext } from '#engine/contract/backend.ts'
import { SharedInForce } from '#engine/contract/shared-in-force.ts'
import { type Fetched, RefreshedValue } from './refreshed.ts'

const KEPT = new WeakMap<object, SharedInForce<RefreshedValue<unknown>>>()

/** Of all backends that share the connections of `context`. */
function keptValues({ upstream }: Pick<BackendContext, 'upstream'>): SharedInForce<RefreshedValue<unknown>> {
  const known = KEPT.get(upstream)
  if (known !== undefined) return known
  const made = new SharedInForce<RefreshedValue<unknown>>()
  KEPT.set(upstream, made)
  return made
}

/**
 * To be called while a backend is compiled. `whose`: as the log says it ("AWS"). `key` tells accounts apart; of a
 * secret it has the hash.
 */
export function keptValue<T>(
  whose: string,
  key: string,
  context: BackendContext,
  fetch: (signal: AbortSignal) => Promise<Fetched<T>>
): RefreshedValue<T> {
  const { log, name } = context
  const failed = (why: string) => log('warn', `${name}: no credentials of ${whose}: ${why}`)
  const make = () => new RefreshedValue(fetch, { now: Date.now, failed })
  const { value, use } = keptValues(context).share(`${whose} ${key}`, make)
  context.addBackground(use)
  return value
}
