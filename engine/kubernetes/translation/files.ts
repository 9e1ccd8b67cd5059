/**
 * Contents of Secrets and ConfigMaps as files: a configuration says a path where a file would, and nothing else can be
 * read. Which object a path may name is decided where the path is written.
 */
import type { Documents } from '#engine/contract/policy.ts'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { objectOf, type Path, text } from '#engine/schema/placed.ts'
import { contained } from './contained.ts'

type Kind = 'Secret' | 'ConfigMap'

/** No name and no key has it. */
const BETWEEN = ':'
const PATH = /^\/(Secret|ConfigMap)\/([^/:]+)\/([^/:]+)\/([^/:]+)$/

export const filePath = (kind: Kind, namespace: string, name: string, key: string): string =>
  `/${kind}/${namespace}/${name}/${key}`

/** A file that is several others, one behind the other. */
export const joinedPaths = (paths: readonly string[]): string => paths.join(BETWEEN)

/** Whether a text is such a path, of one file or of several. */
export const isFilePath = (value: string): boolean =>
  value.startsWith('/') && value.split(BETWEEN).every((path) => PATH.test(path))

/** Spaces in front may be taken away before it is read. */
const NAMED = /(?:^|:)\s*\/(?:Secret|ConfigMap)\/([^/:]+)\//g

/** Where `value` names a file of another namespace than `own`; null: nowhere. */
export function foreignFileAt(value: unknown, own: string): Path | null {
  if (typeof value === 'string') {
    if (!value.includes('/')) return null
    return [...value.matchAll(NAMED)].some(([, namespace]) => namespace !== own) ? [] : null
  }
  if (typeof value !== 'object' || value === null) return null
  for (const [key, inner] of Object.entries(value)) {
    const found = foreignFileAt(inner, own)
    if (found !== null) return [Array.isArray(value) ? Number(key) : key, ...found]
  }
  return null
}

/** Undefined: the object has no such key. */
export const entryOf = (holder: KubernetesObject, key: string): string | undefined =>
  contained(
    holder,
    () => readOnce(holder, key),
    () => undefined
  )

/** Objects do not change. Each of 10,000 API keys is asked for by what checks them, compares them and reads them. */
const texts = new WeakMap<KubernetesObject, Map<string, string>>()

function readOnce(holder: KubernetesObject, key: string): string | undefined {
  const known = texts.get(holder) ?? new Map<string, string>()
  texts.set(holder, known)
  const read = known.get(key) ?? entryIn(holder, key)
  if (read !== undefined) known.set(key, read)
  return read
}

function entryIn({ kind, data, binaryData, stringData }: KubernetesObject, key: string): string | undefined {
  const value = text(objectOf(data)[key])
  if (kind === 'ConfigMap') return value ?? decoded(text(objectOf(binaryData)[key]))
  // Manifests have it in clear text; API servers do not give it.
  return text(objectOf(stringData)[key]) ?? decoded(value)
}

const decoded = (value: string | undefined): string | undefined =>
  value === undefined ? undefined : Buffer.from(value, 'base64').toString()

/** Text of a path. Throws an Error that says in words why there is none. */
export function readPath(path: string, objects: Objects): string {
  return path
    .split(BETWEEN)
    .map((one) => readOne(one, objects))
    .join('\n')
}

function readOne(path: string, objects: Objects): string {
  const [, kind, namespace = '', name = '', key = ''] = PATH.exec(path) ?? []
  if (kind === undefined) throw new Error('is no path of a Secret or a ConfigMap: a controller reads no files')
  const object = objects.get(kind as Kind, namespace, name)
  if (object === undefined) throw new Error(`there is no ${kind} ${namespace}/${name}`)
  const found = entryOf(object, key)
  if (found === undefined) throw new Error(`${kind} ${namespace}/${name} has no entry ${key}`)
  return found
}

/** What a configuration that was made of `objects` can read. */
export function objectSources(objects: () => Objects, readYaml: Documents['readYaml']): Documents {
  const readFile = (path: string) => readPath(path, objects())
  return {
    readFile,
    readLarge: readFile,
    readUrl: () => {
      // It would be fetched with the reach of the controller, for the author of any resource.
      throw new Error('a controller fetches no documents: put it into a ConfigMap')
    },
    readYaml
  }
}
