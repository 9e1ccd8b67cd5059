/** What kinds of backends make of their backends before a configuration goes to workers (BackendKind.prepare). */
import type { BackendKind, PrepareContext } from '#engine/contract/backend.ts'
import { ConfigError, type Problem } from '#engine/contract/config-error.ts'
import type { Backend, Snapshot } from '#engine/ir/snapshot.ts'

export type Prepared<D> = { readonly draft: D } | { readonly problems: readonly Problem[] }

/** The draft itself where nothing has changed. */
export function prepareBackends<D extends Pick<Snapshot, 'backends'>>(
  draft: D,
  kinds: readonly BackendKind[],
  warn: PrepareContext['warn']
): Prepared<D> {
  const problems: Problem[] = []
  const backends = Object.entries(draft.backends).map(([name, backend]): [string, Backend] => {
    const kind = kinds.find((one) => one.kind === backend.kind)
    try {
      return [name, (kind?.prepare?.(backend as never, { name, warn }) ?? backend) as Backend]
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      problems.push(...error.problems)
      return [name, backend]
    }
  })
  if (problems.length > 0) return { problems }
  const isSame = backends.every(([name, backend]) => draft.backends[name] === backend)
  return { draft: isSame ? draft : { ...draft, backends: Object.fromEntries(backends) } }
}
