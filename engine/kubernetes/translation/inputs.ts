/** What compiling reads: pieces of a configuration with the contents of the files that they name. Plain data. */
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { isFilePath, readPath } from './files.ts'
import type { Part } from './parts.ts'

export interface Input<T = unknown> extends Part<T> {
  /** Texts of the files that the value names, or why they cannot be read. */
  readonly contents: readonly string[]
  /** Services whose addresses the value names, as "namespace/name", and InferencePools (poolKey). */
  readonly services: readonly string[]
}

/** Reads what the value names, so that a change of it is noticed. */
export function inputOf<T>({ value, origins }: Part<T>, objects: Objects, clusterDomain: string): Input<T> {
  const contents = new Map<string, string>()
  const services = new Set<string>()
  const address = `.svc.${clusterDomain}`
  const pools = `.inference.${clusterDomain}`
  visitTexts(value, (text) => {
    if (isFilePath(text)) contents.set(text, contentOf(text, objects))
    else {
      const service = serviceOf(text, address)
      if (service !== null) services.add(service)
      const pool = service === null ? serviceOf(text, pools) : null
      if (pool !== null) services.add(poolKey(pool))
    }
  })
  return { value, origins, contents: [...contents.values()], services: [...services] }
}

/** An InferencePool ("demo/models") among Services, whose names have no dot. */
export const poolKey = (name: string): string => `${name}.inference`

function contentOf(path: string, objects: Objects): string {
  try {
    return readPath(path, objects)
  } catch (error) {
    return (error as Error).message
  }
}

/** "shop.demo.svc.cluster.local:8080" and URLs with it -> "demo/shop". */
function serviceOf(text: string, address: string): string | null {
  const end = text.indexOf(address)
  if (end === -1) return null
  const [name = '', namespace = ''] = text
    .slice(text.lastIndexOf('/', end) + 1, end)
    .split('.')
    .slice(-2)
  return `${namespace}/${name}`
}

/** All texts in a value, at any depth. */
function visitTexts(value: unknown, visit: (text: string) => void): void {
  if (typeof value === 'string') visit(value)
  else if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) visitTexts(inner, visit)
}
