/** Warns of guards of answers that say Reject: answers are always masked (docs/specification.md#prompt-guards). */
import { entriesOf, objectOf, type Placed, type Raw } from '#engine/schema/placed.ts'

interface Warning {
  readonly path: Placed['path']
  readonly message: string
}

/** Of `ai` backends, wherever they stand, and of `llm`. */
export function uselessActions(file: Raw, routes: readonly Placed[]): Warning[] {
  const references = routes.flatMap(({ raw, path }) => entriesOf(raw.backends, [...path, 'backends']))
  const backends = [...entriesOf(file.backends, ['backends']), ...references]
  const llm = objectOf(file.llm)
  return [
    ...backends.flatMap(({ raw, path }) => inHolder({ raw: objectOf(raw.ai), path: [...path, 'ai'] })),
    ...inHolder({ raw: llm, path: ['llm'] }),
    ...entriesOf(llm.models, ['llm', 'models']).flatMap(inHolder)
  ]
}

function inHolder({ raw, path }: Placed): Warning[] {
  const guards = entriesOf(objectOf(raw.promptGuard).response, [...path, 'promptGuard', 'response'])
  return guards.flatMap((guard) => {
    const at = [...guard.path, 'regex', 'action']
    if (objectOf(guard.raw.regex).action !== 'Reject') return []
    return [{ path: at, message: 'has no effect: what is found in an answer is always masked' }]
  })
}
