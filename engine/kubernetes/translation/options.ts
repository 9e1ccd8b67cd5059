/** What the translation of resources is given, and what it gives. */

import type { KubernetesObject, ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { CompileOptions } from '#engine/source/compile.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'

export interface TranslatorOptions
  extends Pick<CompileOptions, 'policies' | 'backends' | 'env' | 'processors' | 'memoryBytes' | 'check' | 'prepare'> {
  /** Values of a document in YAML that an object refers to. */
  readonly readYaml: (text: string) => unknown
  /** Of names of Services. Default "cluster.local". */
  readonly clusterDomain?: string
  /** False: all objects have one author, to whom the data plane belongs. Default true. */
  readonly hasTenants?: boolean
  /** Of the GatewayClasses that are translated. Default "weir.dev/gateway-controller". */
  readonly controllerName?: string
}

/** A place in a Snapshot, and what says it: "HTTPRoute demo/shop: spec.rules[0].filters[1]". */
export type SnapshotPlace = readonly [snapshot: string, place: string]

/** What one data plane runs. */
export interface GatewayOutput {
  readonly gateway: KubernetesObject
  /** What did not change since the last translation is the same object in it. Empty where nothing can be served. */
  readonly draft: SnapshotDraft
  /** "HTTPRoute demo/shop: spec.rules[0].filters[1]" for parts of the draft. Made when it is asked for. */
  readonly places: () => readonly SnapshotPlace[]
  /** Services whose endpoints its data plane needs, as "namespace/name". */
  readonly services: ReadonlySet<string>
  /** Each names its object and the place in it. */
  readonly warnings: readonly string[]
}

export interface Translation {
  /** By "namespace/name". */
  readonly gateways: ReadonlyMap<string, GatewayOutput>
  /**
   * What the statuses of objects should say, the same Map with every translation; without times of transitions. Of a
   * route or a policy: the parents and ancestors of this controller alone; those of others are not its own to change.
   * Of a Gateway: without addresses, and Programmed as far as the translation knows.
   */
  readonly statuses: ReadonlyMap<ObjectKey, unknown>
  /** Of which objects they are others than with the translation before, or gone. */
  readonly changedStatuses: ReadonlySet<ObjectKey>
}
