/**
 * The objects of a manifest: documents as kubectl applies them, judged by the schemas that API servers have, with what
 * those fill in. Pure: who has read the documents knows where each path stands.
 */
import { withDefaults } from '#engine/kubernetes/gateway-api/defaults.ts'
import { type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Resource } from '#engine/kubernetes/resources/index.ts'
import { entriesOf, objectOf, type Path, type Placed, text } from '#engine/schema/placed.ts'
import type { Finding } from '#engine/source/tree.ts'
import { validate } from '#engine/source/validate.ts'
import { completed, created, INSTALLED_CLASS } from './complete.ts'
import { type KindSchema, KindSchemas } from './kinds.ts'
import { straysIn } from './strays.ts'

/** A place in a manifest; `path` is that in the document. */
export interface ManifestPlace {
  /** Index of the document. */
  readonly document: number
  readonly path: Path
}

export interface ManifestFinding extends ManifestPlace, Pick<Finding, 'message' | 'at' | 'hint'> {
  /** "HTTPRoute demo/shop"; empty: of a document that is no object. */
  readonly object: string
  /** In the object. */
  readonly pathInObject: Path
  /** Of an object that is given twice: where the other one is. */
  readonly first?: ManifestPlace
}

export interface Manifest {
  /** Those without mistakes, and what a cluster has beside them. */
  readonly objects: readonly KubernetesObject[]
  /** Of the objects that the documents have. */
  readonly places: ReadonlyMap<ObjectKey, ManifestPlace>
  readonly findings: readonly ManifestFinding[]
  /** Sentences about an object, that begin with it and its field: "Gateway demo/edge: spec.gatewayClassName: ...". */
  readonly doubts: readonly string[]
  /** Sentences about all of it. */
  readonly notes: readonly string[]
}

/** Whether a document is an object of Kubernetes, of whatever kind. */
export function isObject(document: unknown): boolean {
  const { apiVersion, kind } = objectOf(document)
  return typeof apiVersion === 'string' && typeof kind === 'string'
}

/** `documents`: null where one is empty. `resources`: those of weir.dev. */
export function readObjects(documents: readonly unknown[], resources: readonly Resource[]): Manifest {
  const reader = new Reader(new KindSchemas(resources))
  for (const [i, document] of documents.entries()) if (document !== null) reader.read(document, i)
  const { objects, assumed } = completed(reader.objects)
  const { places, findings } = reader
  return {
    objects,
    places,
    findings,
    doubts: [...assumed.map(assumedClass), ...straysIn(objects)],
    notes: reader.ignored()
  }
}

function assumedClass({ metadata: { namespace, name }, spec }: KubernetesObject): string {
  const { gatewayClassName } = objectOf(spec)
  const missing = `there is no GatewayClass ${String(gatewayClassName)} among the resources`
  const mending = `it is taken for a class of weir; the one that is installed is called ${INSTALLED_CLASS}`
  return `Gateway ${namespace}/${name}: spec.gatewayClassName: ${missing}: ${mending}`
}

const NO_OBJECT = 'is no resource: it has no apiVersion and kind'

class Reader {
  readonly objects: KubernetesObject[] = []
  readonly places = new Map<ObjectKey, ManifestPlace>()
  readonly findings: ManifestFinding[] = []
  readonly #kinds: KindSchemas
  /** Counts by "kind (apiVersion)". */
  readonly #ignored = new Map<string, number>()

  constructor(kinds: KindSchemas) {
    this.#kinds = kinds
  }

  read(document: unknown, index: number): void {
    for (const { raw, path } of unpacked({ raw: objectOf(document), path: [] })) {
      this.#object({ raw, path }, index)
    }
  }

  /** What was ignored, in one sentence; none: nothing was. */
  ignored(): string[] {
    if (this.#ignored.size === 0) return []
    const kinds = [...this.#ignored].map(([kind, count]) => (count === 1 ? kind : `${count} ${kind}`))
    return [`resources that are not for a gateway are ignored: ${kinds.join(', ')}`]
  }

  #object(placed: Placed, document: number): void {
    const { raw, path } = placed
    const whereOf = (pathInObject: Path) => ({
      ...{ document, path: [...path, ...pathInObject], object: nameOf(placed), pathInObject }
    })
    const report = (pathInObject: Path, message: string, at: Finding['at'], hint?: string): void => {
      this.findings.push({ ...whereOf(pathInObject), message, at, hint })
    }
    const { apiVersion, kind } = raw
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
      report([], NO_OBJECT, 'key')
      return
    }
    const found = this.#kinds.recognize(apiVersion, kind)
    if (found === 'ignored') {
      const name = `${kind} (${apiVersion})`
      this.#ignored.set(name, (this.#ignored.get(name) ?? 0) + 1)
      return
    }
    if ('field' in found) {
      report([found.field], found.message, 'value', found.hint)
      return
    }
    const filled = filledIn(raw, found)
    const outcome = validate(found.schema, filled)
    if ('findings' in outcome) {
      for (const { path: at, message, at: end, hint } of outcome.findings) report(at, message, end, hint)
      return
    }
    const object = created(found.kind, filled)
    const key = keyOf(object)
    const first = this.places.get(key)
    if (first !== undefined) {
      const twice = { message: 'is given twice: keep one of them', at: 'value', hint: undefined } as const
      this.findings.push({ ...whereOf(['metadata', 'name']), ...twice, first })
    } else {
      this.places.set(key, { document, path })
      this.objects.push(object)
    }
  }
}

function filledIn(raw: Placed['raw'], { defaults }: KindSchema): Placed['raw'] {
  if (defaults === null) return objectOf(withoutNulls(raw))
  return { ...raw, metadata: withoutNulls(raw.metadata), spec: withDefaults(defaults, raw.spec) }
}

/** To an API server a field that is null is one that is not there; templates leave many. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutNulls(inner)]))
}

/** kubectl get prints several objects as the items of one. */
function unpacked(placed: Placed): readonly Placed[] {
  const { apiVersion, kind, items } = placed.raw
  const isList = apiVersion === 'v1' && kind === 'List'
  return isList ? entriesOf(items, [...placed.path, 'items']).flatMap(unpacked) : [placed]
}

function nameOf({ raw }: Placed): string {
  const { name, namespace } = objectOf(raw.metadata)
  const own = text(name) ?? 'without a name'
  const kind = text(raw.kind)
  if (kind === undefined) return ''
  return `${kind} ${text(namespace) === undefined ? own : `${text(namespace)}/${own}`}`
}
