/** Lists of { GROUP: [GROUP] }, of the router and of the library; one for each kind of error. Both may have them. */
import type { ForeignFile } from '#engine/contract/importer.ts'
import type { Draft } from '#engine/importers/draft.ts'
import { objectOf } from '#engine/schema/placed.ts'

export interface ClassFallbacks {
  /** Names of groups by the name of a group. */
  readonly own: ReadonlyMap<string, readonly string[]>
  /** Of groups that have none. */
  readonly rest: readonly string[]
}

export interface Fallbacks {
  readonly general: ClassFallbacks
  /** By the names of weir's kinds of errors. */
  readonly byClass: ReadonlyMap<string, ClassFallbacks>
}

/** LiteLLM's key -> the kind of error that its list is for. */
const CLASSES = { context_window_fallbacks: 'context_window', content_policy_fallbacks: 'content_policy' } as const

export function fallbacksOf(files: readonly ForeignFile[], draft: Draft): Fallbacks {
  const byClass = new Map<string, ClassFallbacks>()
  for (const [key, error] of Object.entries(CLASSES)) {
    const lists = listsOf(files, key, draft)
    if (lists.own.size > 0) byClass.set(error, lists)
  }
  return { general: listsOf(files, 'fallbacks', draft), byClass }
}

function listsOf(files: readonly ForeignFile[], key: string, draft: Draft): ClassFallbacks {
  const own = new Map<string, readonly string[]>()
  let rest: readonly string[] = []
  for (const file of files) {
    for (const section of ['litellm_settings', 'router_settings']) {
      const settings = objectOf(objectOf(file.value)[section])
      if (key === 'fallbacks' && Array.isArray(settings.default_fallbacks)) rest = texts(settings.default_fallbacks)
      const all = Array.isArray(settings[key]) ? settings[key] : []
      all.forEach((entry: unknown, i) => {
        const pairs = Object.entries(objectOf(entry)).filter(([, to]) => Array.isArray(to))
        for (const [from, to] of pairs) own.set(from, texts(to as unknown[]))
        if (pairs.length === 0)
          draft.note(file, [section, key, i], 'is no { MODEL: [MODEL] }, so LiteLLM has no use for it either')
      })
    }
  }
  return { own, rest: own.get('*') ?? rest }
}

const texts = (list: readonly unknown[]): string[] => list.filter((one) => typeof one === 'string')
