/** From which namespaces something may be attached: `allowedRoutes.namespaces`, `allowedListeners.namespaces`. */
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { objectOf, text } from '#engine/schema/placed.ts'
import { selects } from './selectors.ts'

/** `value`: RouteNamespaces or ListenerNamespaces as it was read. `none`: what holds where it says nothing. */
export function allowsNamespace(
  value: unknown,
  none: 'Same' | 'None',
  own: string,
  wanted: string,
  objects: Objects
): boolean {
  const { from, selector } = objectOf(value)
  switch (text(from) ?? none) {
    case 'All':
      return true
    case 'Same':
      return own === wanted
    case 'Selector':
      return selector !== undefined && selects(selector, labelsOf(wanted, objects))
    default:
      return false
  }
}

/** Of a namespace. Every one has its name as a label, that of a file of manifests too. */
function labelsOf(namespace: string, objects: Objects): Readonly<Record<string, string>> {
  const labels = objects.get('Namespace', '', namespace)?.metadata.labels
  return { 'kubernetes.io/metadata.name': namespace, ...labels }
}
