/** An account of kept bodies for a test, in place of that of its gateway. */
import type { TestContext } from 'node:test'
import { useHeldBytes } from '#engine/contract/held-bytes.ts'
import { WorkerHeldBytes } from '#engine/workers/held-bytes.ts'
import { SharedState } from '#engine/workers/shared.ts'

/** To be called when the gateway runs: it has one of its own. `max`: bytes. */
export function accountOf(t: Pick<TestContext, 'after'>, max: number): WorkerHeldBytes {
  const account = new WorkerHeldBytes(SharedState.create(1), 0, max)
  useHeldBytes(account)
  t.after(() => useHeldBytes(null))
  return account
}
