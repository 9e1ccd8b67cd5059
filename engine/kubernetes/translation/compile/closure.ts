/** Everything that something needs: the backends that it names, those that they name, and their secrets. */
import type { BackendRecord, Needs, Records, SecretRecord } from './records.ts'

export interface Closure {
  readonly backends: readonly BackendRecord[]
  readonly secrets: readonly SecretRecord[]
}

/** In the order in which they are met, which is the same for the same records. */
export function closureOf(all: Iterable<Needs>, records: Records): Closure {
  const backends = new Map<string, BackendRecord>()
  const secrets = new Map<string, SecretRecord>()
  const visit = (needs: Needs): void => {
    for (const name of needs.secrets) {
      const found = records.secret(name)
      if (found !== undefined) secrets.set(name, found)
    }
    for (const name of needs.backends) {
      const found = backends.has(name) ? undefined : records.backend(name)
      if (found === undefined) continue
      backends.set(name, found)
      visit(found)
    }
  }
  for (const needs of all) visit(needs)
  return { backends: [...backends.values()], secrets: [...secrets.values()] }
}
