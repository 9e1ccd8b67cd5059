/** Explains requests under the text of a configuration file. */
import { backends, priceCatalogue } from '#backends/index.ts'
import { prepareBackends } from '#engine/build/prepare.ts'
import { NO_CHILDREN } from '#engine/contract/children.ts'
import { NO_REVOCATIONS } from '#engine/contract/revocations.ts'
import { type ExplainParts, explain } from '#engine/explain/explain.ts'
import type { Explanation } from '#engine/explain/explanation.ts'
import { type RequestInput, readDryRequest } from '#engine/explain/request.ts'
import { formatErrors, type LoadOptions, loadConfig } from '#engine/standalone/load.ts'
import { OffloadPool } from '#engine/workers/offload.ts'
import { policies } from '#policies/index.ts'

const offload = new OffloadPool(import.meta.resolve('#engine/process/jobs.ts'))

/** Throws the mistakes of `text`. */
export function explainer(
  text: string,
  folder = '.',
  state: Partial<Pick<ExplainParts, 'buckets' | 'budgets'>> = {}
): (input: RequestInput) => Promise<Explanation> {
  const prepare: LoadOptions['prepare'] = (draft, warn) => prepareBackends(draft, backends, warn)
  const loaded = loadConfig(text, { file: 'weir.yaml', env: {}, policies, backends, folder, prepare })
  if (!loaded.ok) throw new Error(formatErrors(loaded.errors))
  const snapshot = { ...loaded.snapshot, version: 1, hash: '', acceptedAt: '' }
  const own = { secret: new Uint8Array(32), revocations: NO_REVOCATIONS, children: NO_CHILDREN, offload }
  const parts = {
    policies,
    backends,
    priceCatalogue,
    ...own,
    places: loaded.places(),
    buckets: null,
    hosts: {},
    ...{ madeKeys: [], budgets: null, hasServer: false },
    ...state
  }
  return async (input) => await explain(snapshot, readDryRequest(input), parts)
}
