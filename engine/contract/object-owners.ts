/**
 * Whose the objects are that providers keep for clients (docs/llm-objects.md, "Lists"). Nobody reads a name here: what
 * holds and what is held are keyed hashes. Implemented by engine/accounts/objects.
 */

/** Since an object was last made or shown. Files may stay at a provider for ever; a list that nobody reads need not. */
export const OBJECT_KEPT_MS = 400 * 86_400_000
/** Of one holder. The oldest make room. */
export const OBJECTS_MAX = 20_000

export interface OwnedObjects {
  /** In the order of what was asked. */
  readonly isOwn: readonly boolean[]
  /** How many objects the holder has in all. */
  readonly total: number
}

/** All methods reject where the place that keeps it cannot be reached in time. */
export interface ObjectOwners {
  /** Resolves when the end of this process does not forget it any more. */
  note(holder: string, objects: readonly string[]): Promise<void>
  forget(holder: string, object: string): Promise<void>
  owned(holder: string, objects: readonly string[]): Promise<OwnedObjects>
}
