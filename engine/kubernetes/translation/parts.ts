/**
 * What the parts of the translation give each other: pieces of a configuration in a file's spelling
 * (engine/source/schema.ts), each with the objects that it came from.
 */
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Path, Raw } from '#engine/schema/placed.ts'

/** A place in an object. */
export interface ObjectPlace {
  readonly key: ObjectKey
  readonly path: Path
}

/** What stands at `at` in the value, with all below it, came from `from`. */
export type PartOrigin = readonly [at: Path, from: ObjectPlace]

export interface Part<T = Raw> {
  readonly value: T
  readonly origins: readonly PartOrigin[]
}

/** What is wrong with an object, beside what compiling the configuration shows: a condition that is False. */
export interface Fault {
  /** "Accepted", "ResolvedRefs", ...; its condition. */
  readonly type: string
  /** Reason of the condition, as the Gateway API has it. */
  readonly reason: string
  /** One sentence that says what is wrong and how to mend it. Never anything secret. */
  readonly message: string
  readonly place: ObjectPlace
}

/** A rule of a route: one entry of `routes` (or of `tcpRoutes`) of a listener, without hostnames. */
export interface RulePart extends Part {
  /** Names of entries of `backends` that it refers to. */
  readonly backends: ReadonlySet<string>
}

/** A route by itself, whatever it is attached to. */
export interface RouteParts {
  readonly rules: readonly RulePart[]
  readonly faults: readonly Fault[]
}

/** Sets of policies of one attachment point, one for each phase that has policies: `policies` of a place in a file. */
export type PolicySetsPart = Part<readonly Raw[]>

/** Condition of a status (meta/v1); the times are filled in where it is written. */
export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly observedGeneration: number
}
