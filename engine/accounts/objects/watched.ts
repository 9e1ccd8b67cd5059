/** Whose the objects of providers are, so that people learn when that could not be written down or looked up. */
import type { ObjectOwners } from '#engine/contract/object-owners.ts'

/** A place that is away is away for all: one line for each of its reasons and minute. */
const LINE_EVERY_MS = 60_000

export type OwnersOperation = keyof ObjectOwners

const FAILED: Readonly<Record<OwnersOperation, string>> = {
  note: 'what a client has made at a provider could not be written down, and is in no list until it is asked for by id',
  forget: 'what a client has deleted at a provider could not be taken from its list',
  owned: "a list of a client's objects was refused, since whose they are could not be looked up"
}

export interface OwnersWatch {
  failed(operation: OwnersOperation): void
  log(level: 'error', message: string): void
  /** Milliseconds of a monotonic clock. */
  now(): number
}

/** Rejects as `owners` does, and says so. */
export function watchedOwners(owners: ObjectOwners, watch: OwnersWatch): ObjectOwners {
  const lineAt = new Map<OwnersOperation, number>()
  const watched = async <T>(operation: OwnersOperation, result: Promise<T>): Promise<T> => {
    try {
      return await result
    } catch (error) {
      watch.failed(operation)
      const now = watch.now()
      if (now - (lineAt.get(operation) ?? Number.NEGATIVE_INFINITY) >= LINE_EVERY_MS) {
        lineAt.set(operation, now)
        watch.log('error', `${FAILED[operation]}: ${error instanceof Error ? error.message : String(error)}`)
      }
      throw error
    }
  }
  return {
    note: async (holder, objects) => await watched('note', owners.note(holder, objects)),
    forget: async (holder, object) => await watched('forget', owners.forget(holder, object)),
    owned: async (holder, objects) => await watched('owned', owners.owned(holder, objects))
  }
}
