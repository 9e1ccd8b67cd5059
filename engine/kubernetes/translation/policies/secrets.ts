/** Secrets that policies refer to, as entries of `secrets` whose texts are paths of what the objects hold. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { selects } from '#engine/kubernetes/translation/attach/selectors.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { filePath } from '#engine/kubernetes/translation/files.ts'
import type { Part } from '#engine/kubernetes/translation/parts.ts'
import { objectOf } from '#engine/schema/placed.ts'
import type { SecretParts } from './options.ts'

export type HolderKind = 'Secret' | 'ConfigMap'

/**
 * A label of entries, which no object can give itself: with it a selector finds what is in the namespace of its policy,
 * and nothing else.
 */
export const NAMESPACE_LABEL = 'weir.dev/namespace'

/** Of labels in a configuration (engine/schema/secret-ref.ts), without the namespace. */
const LABELS_MAX = 63

/** "demo.keys"; of a ConfigMap "demo.roots_configmap". Names of objects have no "_". */
const CONFIG_MAP = '_configmap'

export const secretName = (kind: HolderKind, namespace: string, name: string): string =>
  `${namespace}.${name}${kind === 'ConfigMap' ? CONFIG_MAP : ''}`

/** Names of what an object holds. */
export function heldKeys(holder: KubernetesObject): readonly string[] {
  const read = () => {
    const { data, binaryData, stringData } = holder
    return [...new Set([data, binaryData, stringData].flatMap((held) => Object.keys(objectOf(held))))].sort()
  }
  return contained(holder, read, () => [])
}

/** Secrets of a namespace with these labels, by name. */
export function selectSecrets(objects: Objects, namespace: string, matchLabels: unknown): readonly KubernetesObject[] {
  return objects
    .list('Secret', namespace)
    .filter((secret) => selects({ matchLabels }, secret.metadata.labels ?? {}) && heldKeys(secret).length > 0)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
}

export function secretEntries(names: Iterable<string>, objects: Objects): SecretParts {
  return { entries: [...new Set(names)].sort().flatMap((name) => entryOf(name, objects) ?? []) }
}

/** Null: there is no such object any more, or it holds nothing. */
function entryOf(name: string, objects: Objects): Part | null {
  const dot = name.indexOf('.')
  const namespace = name.slice(0, dot)
  const kind: HolderKind = name.endsWith(CONFIG_MAP) ? 'ConfigMap' : 'Secret'
  const own = kind === 'ConfigMap' ? name.slice(dot + 1, -CONFIG_MAP.length) : name.slice(dot + 1)
  const holder = objects.get(kind, namespace, own)
  const keys = holder === undefined ? [] : heldKeys(holder)
  if (holder === undefined || keys.length === 0) return null
  const files = keys.map((key) => [key, { file: filePath(kind, namespace, own, key) }] as const)
  const labels = { ...labelsAsSelected(holder), [NAMESPACE_LABEL]: namespace }
  return {
    value: { name, labels, entries: Object.fromEntries(files) },
    origins: [[[], { key: keyOf(holder), path: [] }]]
  }
}

function labelsAsSelected(holder: KubernetesObject): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(holder.metadata.labels ?? {}).slice(0, LABELS_MAX))
}
