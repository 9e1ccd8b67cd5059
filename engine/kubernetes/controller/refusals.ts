/** What a data plane says against a draft, in the words of the objects that the draft was made of. */

import { isDeepStrictEqual } from 'node:util'
import { Places } from '#engine/ir/places.ts'
import { type KindName, type KubernetesObject, type ObjectKey, objectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { DataPlane } from '#engine/kubernetes/stream/index.ts'
import { condition } from '#engine/kubernetes/translation/conditions.ts'
import type { SnapshotPlace } from '#engine/kubernetes/translation/index.ts'
import type { Status } from './status.ts'

export interface Refusal {
  readonly pod: string
  /** In one line: "HTTPRoute demo/shop: spec.rules[0]: is not a policy of this version". */
  readonly reason: string
  /** What is said of each object that is named. */
  readonly objects: ReadonlyMap<ObjectKey, string>
}

/** A problem of a configuration (ConfigError): its path in the Snapshot, and a sentence. */
const PROBLEM = /^((?:binds\[|backends\.|gateway\.|frontendPolicies\.)\S*?): (.*)$/
/** How a place begins: "HTTPRoute demo/shop" */
const OBJECT = /^(\w+) (?:([^/:\s]+)\/)?([^/:\s]+)/

/** What data planes of one Gateway refuse, and what statuses say of it: the same objects while nothing changes. */
export class Refusals {
  readonly #gateway: string
  #of: DataPlane['refused'] = null
  #refusal: Refusal | null = null
  /** Of what is refused, as they were said last. */
  #statuses: Map<ObjectKey, Status> = new Map()

  /** `gateway`: "namespace/name" */
  constructor(gateway: string) {
    this.#gateway = gateway
  }

  /** Null: they refuse nothing. `places`: of the draft of `version`, which is the newest. */
  find(planes: readonly DataPlane[], version: number, places: () => readonly SnapshotPlace[]): Refusal | null {
    const refusing = planes.find(({ refused }) => refused !== null)
    const refused = refusing?.refused ?? null
    if (refused === this.#of) return this.#refusal
    this.#of = refused
    // Of an older draft they are not known any more, and the newest is answered soon.
    this.#refusal = refused && refusalOf(refusing!.pod, refused.reason, refused.version === version ? places() : [])
    return this.#refusal
  }

  /**
   * Of the objects that are refused. `desiredOf`: what is to be said of them so far, by the translation and of other
   * Gateways; undefined: nothing.
   */
  statuses(desiredOf: (key: ObjectKey) => Status | undefined, objects: Objects): ReadonlyMap<ObjectKey, Status> {
    const before = this.#statuses
    this.#statuses = new Map()
    for (const [key, message] of this.#refusal?.objects ?? []) {
      const [kind = '', namespace = '', name = ''] = key.split('/')
      const object = objects.get(kind as KindName, namespace, name)
      const desired = desiredOf(key)
      // A Gateway says it with all that it says.
      if (object === undefined || desired === undefined || kind === 'Gateway') continue
      const made = refusedStatus(object, desired, this.#gateway, message)
      const known = before.get(key)
      this.#statuses.set(key, isDeepStrictEqual(known, made) ? known! : made)
    }
    return this.#statuses
  }

  /** Objects that `statuses` has given last. */
  get refused(): Iterable<ObjectKey> {
    return this.#statuses.keys()
  }
}

/** A reason has a line for each problem. */
function refusalOf(pod: string, reason: string, entries: readonly SnapshotPlace[]): Refusal {
  const places = Places.of(entries)
  const objects = new Map<ObjectKey, string>()
  const lines = reason.split('\n').map((line) => {
    const [, path = '', message = ''] = PROBLEM.exec(line) ?? []
    const place = path === '' ? null : places.find(path)
    const found = place === null ? null : OBJECT.exec(place)
    if (place === null || found === null) return line
    const [start, kind = '', namespace = '', name = ''] = found
    const key = objectKey(kind, namespace, name)
    const own = `${place.slice(start.length + ': '.length)}: ${message}`.replace(/^: /, '')
    objects.set(key, [...(objects.has(key) ? [objects.get(key)] : []), own].join('; '))
    return `${place}: ${message}`
  })
  return { pod, reason: lines.join('; '), objects }
}

interface Reference {
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
}

type Entry = Status & { readonly parentRef?: Reference; readonly ancestorRef?: Reference }

/**
 * The status of an object that a data plane of `gateway` refuses: Programmed is False for that parent. Of a policy it
 * is so for what it acts on, but for other Gateways. `desired`: what the translation says.
 */
function refusedStatus(object: KubernetesObject, desired: Status, gateway: string, message: string): Status {
  const not = condition(object, 'Programmed', 'False', 'Invalid', message)
  const isOf = ({ parentRef, ancestorRef }: Entry) => {
    const { kind = 'Gateway', namespace = object.metadata.namespace, name } = parentRef ?? ancestorRef ?? {}
    return kind === 'Gateway' ? `${namespace}/${name}` === gateway : parentRef === undefined
  }
  const entries = Object.entries(desired).map(([field, value]) => {
    if (field !== 'parents' && field !== 'ancestors') return [field, value]
    const list = (value as readonly Entry[]).map((entry) =>
      isOf(entry) ? { ...entry, conditions: [...(entry.conditions as readonly object[]), not] } : entry
    )
    return [field, list]
  })
  return Object.fromEntries(entries)
}
