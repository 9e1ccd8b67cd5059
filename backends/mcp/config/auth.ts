/** Why the targets of an `mcp` backend cannot be shown what the policy `auth` says. */
import { readAddress } from '#backends/mcp/targets/address.ts'
import { TARGET_KEYS } from '#backends/mcp/targets/index.ts'
import { refusedAuth } from '#backends/shared/auth/check.ts'
import { validAuth } from '#engine/contract/backend-auth/policies.ts'
import type { FileAuth } from '#engine/contract/backend-auth/schema.ts'
import type { Report } from '#engine/contract/backend-config.ts'
import { entriesOf, objectOf, type Path, type Placed, type Raw, text } from '#engine/schema/placed.ts'

/** What stands around a backend acts on all its targets that are servers. Null: it can. */
export function refusedByTargets(auth: FileAuth, { raw, path }: Placed): string | null {
  const targets = entriesOf(raw.targets, [...path, 'targets'])
  const servers = targets.filter((target) => serverIn(target.raw) !== null)
  if (targets.length > 0 && servers.length === 0) {
    return 'means nothing to the targets of this backend, which are programs (stdio): give them env or args'
  }
  for (const target of servers) {
    if (ownAuth(target) !== null) continue
    const why = refusedAuth(auth, serverIn(target.raw))
    if (why !== null) return `${why} (target ${text(target.raw.name) ?? ''})`
  }
  return null
}

/** Null: one of the targets is a server. */
export function withoutServers({ raw, path }: Placed): string | null {
  const targets = entriesOf(raw.targets, [...path, 'targets'])
  if (targets.length === 0 || targets.some((target) => serverIn(target.raw) !== null)) return null
  return 'means nothing to the targets of this backend, which are programs (stdio): they have no address; remove it'
}

export function checkTargetAuth({ raw, path }: Placed, report: Report): void {
  for (const target of entriesOf(raw.targets, [...path, 'targets'])) {
    const server = serverIn(target.raw)
    const own = ownAuth(target)
    const auth = own === null ? null : validAuth(own.value)
    const why = server === null || auth === null ? null : refusedAuth(auth, server)
    if (why !== null) report(own!.path, why)
  }
}

/** The host of a target that is a server, '' where it is no address; null: it is none. */
function serverIn(target: Raw): string | null {
  const key = TARGET_KEYS.find(({ name, noConnection }) => noConnection === undefined && target[name] !== undefined)
  if (key === undefined) return null
  return readAddress(text(objectOf(target[key.name]).host) ?? '')?.host ?? ''
}

/** What the target says itself, or its key. */
function ownAuth({ raw, path }: Placed): { readonly value: unknown; readonly path: Path } | null {
  const inner = TARGET_KEYS.filter(({ hasPolicies }) => hasPolicies).map(({ name }) => name)
  const places = [{ raw, path }, ...inner.map((name) => ({ raw: objectOf(raw[name]), path: [...path, name] }))]
  for (const place of places) {
    for (const name of ['auth', 'backendAuth']) {
      const value = objectOf(place.raw.policies)[name]
      if (value !== undefined) return { value, path: [...place.path, 'policies', name] }
    }
  }
  return null
}
