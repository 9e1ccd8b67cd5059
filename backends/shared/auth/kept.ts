/**
 * What is fetched to authenticate is kept over reloads, as long as the thread's connections are: a reload is no reason
 * to ask a token endpoint again.
 */
import type { BackendContext } from '#engine/contract/backend.ts'
import { type Fetched, RefreshedValue } from './refreshed.ts'

const KEPT = new WeakMap<object, Map<string, RefreshedValue<unknown>>>()
/** The oldest goes: configurations may come and go with accounts of their own. */
const KEPT_MAX = 256

/** `whose`: as the log says it ("AWS"). `key` tells accounts apart; of a secret it has the hash. */
export function keptValue<T>(
  whose: string,
  key: string,
  { upstream, log, name }: BackendContext,
  fetch: () => Promise<Fetched<T>>
): RefreshedValue<T> {
  const kept = KEPT.get(upstream) ?? new Map<string, RefreshedValue<unknown>>()
  KEPT.set(upstream, kept)
  const id = `${whose} ${key}`
  const known = kept.get(id)
  if (known !== undefined) return known as RefreshedValue<T>
  const failed = (why: string) => log('warn', `${name}: no credentials of ${whose}: ${why}`)
  const made = new RefreshedValue(fetch, { now: Date.now, failed })
  if (kept.size >= KEPT_MAX) kept.delete(kept.keys().next().value!)
  kept.set(id, made)
  return made
}
