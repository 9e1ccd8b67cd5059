/** Which of two objects comes first where both want the same thing (Gateway API: the oldest, then by name). */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'

/** For sorting. Times are RFC 3339 in UTC, as API servers write them. Objects without one are the newest. */
export function byAge({ metadata: a }: KubernetesObject, { metadata: b }: KubernetesObject): number {
  return (
    compare(a.creationTimestamp ?? '~', b.creationTimestamp ?? '~') ||
    compare(a.namespace ?? '', b.namespace ?? '') ||
    compare(a.name, b.name)
  )
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
