/** What refers to a Gateway that is not there: the controller writes no status for it, so nobody else would say it. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import { entriesOf, objectOf, text } from '#engine/schema/placed.ts'
import { nearest } from '#engine/schema/suggest.ts'

const GROUP = 'gateway.networking.k8s.io'

/** Sentences that begin with the object and its field. None without any Gateway: that is told once. */
export function straysIn(objects: readonly KubernetesObject[]): readonly string[] {
  if (!objects.some(({ kind }) => kind === 'Gateway')) return []
  const known = objects.filter(({ kind }) => kind === 'Gateway' || kind === 'ListenerSet').map(keyOf)
  const names = new Set<string>(known)
  return objects.flatMap((object) =>
    parentsOf(object).flatMap(({ at, kind, namespace, name }) => {
      const key = `${kind}/${namespace}/${name}`
      if (names.has(key)) return []
      const similar = nearest(key, known)?.split('/')
      const mending = similar === undefined ? '' : `; did you mean ${similar[0]} ${similar[1]}/${similar[2]}?`
      const { metadata } = object
      const own = `${object.kind} ${metadata.namespace}/${metadata.name}: ${at}`
      return [
        `${own}: there is no ${kind} ${namespace}/${name} among the resources: nothing is served for it${mending}`
      ]
    })
  )
}

/** Gateways and ListenerSets that a route, or the Gateway that a ListenerSet names. */
function parentsOf({ kind, metadata, spec }: KubernetesObject) {
  const { parentRefs, parentRef } = objectOf(spec)
  const own = kind === 'ListenerSet' ? [{ raw: objectOf(parentRef), at: 'spec.parentRef.name' }] : []
  const many = kind.endsWith('Route') ? entriesOf(parentRefs, []) : []
  const all = [...own, ...many.map(({ raw }, i) => ({ raw, at: `spec.parentRefs[${i}].name` }))]
  return all.flatMap(({ raw, at }) => {
    const parent = { at, kind: text(raw.kind) ?? 'Gateway', namespace: text(raw.namespace) ?? metadata.namespace }
    const isOurs = (text(raw.group) ?? GROUP) === GROUP
    return isOurs ? [{ ...parent, name: text(raw.name) ?? '' }] : []
  })
}
