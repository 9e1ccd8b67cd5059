/**
 * A status as it is to be written: what the translation says, with the times of transitions, and with what other
 * controllers say of the same object.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { GATEWAY_GROUP } from '#engine/kubernetes/resources/names.ts'

export type Status = Readonly<Record<string, unknown>>

/** Statuses that are others than before; undefined: there is none any more. */
export type StatusChanges = ReadonlyMap<ObjectKey, Status | undefined>

interface TimedCondition {
  readonly type: string
  readonly status: string
  readonly lastTransitionTime?: string
}

type Entry = Readonly<Record<string, unknown>> & { readonly conditions?: readonly TimedCondition[] }

/** Lists of entries with conditions: what an entry is found again by; whether other controllers have entries too. */
const LISTS: Readonly<Record<string, { readonly id: string; readonly isShared: boolean }>> = {
  parents: { id: 'parentRef', isShared: true },
  ancestors: { id: 'ancestorRef', isShared: true },
  listeners: { id: 'name', isShared: false }
}

/** Bound of ancestors and of parents (Gateway API, PolicyStatus: 16, RouteStatus: 32). */
const ENTRIES_MAX: Readonly<Record<string, number>> = { parents: 32, ancestors: 16, listeners: 64 }

/**
 * The fields of `desired` as they should stand; null: they stand so. Fields that it has not are left to others.
 * `now`: RFC 3339, the time of what changes. `controllerName`: of our entries.
 */
export function statusToWrite(current: Status, desired: Status, now: string, controllerName: string): Status | null {
  const status: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(desired)) {
    const list = LISTS[field]
    const before = current[field]
    if (field === 'conditions') status[field] = timed(value as TimedCondition[], before as TimedCondition[], now)
    else if (list === undefined) status[field] = value
    else
      status[field] = entries(value as Entry[], (before ?? []) as Entry[], {
        ...list,
        max: ENTRIES_MAX[field]!,
        now,
        controllerName
      })
  }
  const isSame = Object.entries(status).every(([field, value]) =>
    isDeepStrictEqual(plain(value), current[field] ?? emptyOf(value))
  )
  return isSame ? null : status
}

interface ListOptions {
  readonly id: string
  readonly isShared: boolean
  readonly max: number
  readonly now: string
  readonly controllerName: string
}

function entries(desired: readonly Entry[], current: readonly Entry[], options: ListOptions): Entry[] {
  const { id, isShared, max, now, controllerName } = options
  const names = desired.map((entry) => withDefaults(entry[id]))
  // CRDs of InferencePool before v1.1 keep no controllerName; a Gateway has one controller.
  const isUnsigned = (entry: Entry): boolean =>
    entry.controllerName === undefined && names.some((name) => isDeepStrictEqual(name, entry[id]))
  const isOfOthers = (entry: Entry): boolean => entry.controllerName !== controllerName && !isUnsigned(entry)
  const others = isShared ? current.filter(isOfOthers) : []
  const own = isShared ? current.filter((entry) => !isOfOthers(entry)) : current
  const made = desired.slice(0, max - others.length).map((entry) => {
    const name = isShared ? withDefaults(entry[id]) : entry[id]
    const before = own.find((one) => isDeepStrictEqual(one[id], name))
    return { ...entry, [id]: name, conditions: timed(entry.conditions ?? [], before?.conditions, now) }
  })
  if (!isShared) return made
  // Each entry stays in its place: two controllers that sort would write for ever.
  const rest = new Set(made)
  const placed = current.flatMap((entry) => {
    if (isOfOthers(entry)) return [entry]
    const next = made.find((one) => isDeepStrictEqual((one as Entry)[id], entry[id]))
    if (next === undefined || !rest.delete(next)) return []
    return [next]
  })
  return [...placed, ...rest]
}

/** References, with what the API server fills in. */
const withDefaults = (reference: unknown): unknown => ({
  group: GATEWAY_GROUP,
  kind: 'Gateway',
  ...(reference as object)
})

function timed(desired: readonly TimedCondition[], current: readonly TimedCondition[] | undefined, now: string) {
  return desired.map((condition) => {
    const before = current?.find(({ type }) => type === condition.type)
    const isOld = before?.status === condition.status && before.lastTransitionTime !== undefined
    return { ...condition, lastTransitionTime: isOld ? before.lastTransitionTime : now }
  })
}

/** Without members that are undefined: JSON has none. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** A list that is not there is as an empty one. */
const emptyOf = (value: unknown): unknown => (Array.isArray(value) ? [] : undefined)

/** Of objects that nothing is said of any more: our entries go. Null: there are none. */
export function statusWithoutUs(current: Status, controllerName: string): Status | null {
  const isOfOthers = (entry: Entry): boolean => entry.controllerName !== controllerName
  for (const field of ['parents', 'ancestors']) {
    const list = current[field] as readonly Entry[] | undefined
    if (list?.some((entry) => !isOfOthers(entry))) return { [field]: list.filter(isOfOthers) }
  }
  return null
}
