import { NO_ACCOUNTS } from './accounts.ts'
import { NO_BODIES } from './body-processor.ts'
import { NO_BUCKETS } from './buckets.ts'
import type { CompileContext, PolicyServices } from './policy.ts'
import { NO_PRICES } from './prices.ts'
import { NO_REMOTE_SERVICES } from './service.ts'
import { NO_SPEND_EXPORT } from './spend.ts'
import { SYSTEM_TIME } from './time.ts'

/** A new store for what policies keep over reloads: one per thread. */
export function newStateStore(): PolicyServices['state'] {
  const store = new Map<string, object>()
  return <T extends object>(key: string, make: () => T): T => {
    const known = store.get(key)
    // A key has one owner, since keys begin with the policy's name: the type is that of its `make`.
    if (known !== undefined) return known as T
    const made = make()
    store.set(key, made)
    return made
  }
}

/** For configurations that are only looked at: nothing of them runs. */
export const NO_SERVICES: Omit<CompileContext, 'maxBufferBytes' | 'state' | 'matches' | 'attachment'> = {
  offload: { run: () => Promise.reject(new Error('nothing runs here')) },
  accounts: NO_ACCOUNTS,
  buckets: NO_BUCKETS,
  prices: NO_PRICES,
  exportSpend: NO_SPEND_EXPORT,
  bodies: NO_BODIES,
  time: SYSTEM_TIME,
  services: NO_REMOTE_SERVICES,
  failed() {},
  log() {}
}
