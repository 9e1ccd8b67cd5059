/**
 * Which targets have a plain name: found in their lists, which a session remembers for a while. With rules, only names
 * that a target lists can be called, so that clients cannot tell a hidden name from an unknown one.
 */

import { fetchList, isUnsupported, type ListQuery } from '#backends/mcp/lists/fetch.ts'
import { LISTS } from '#backends/mcp/lists/kinds.ts'
import type { OwnedName } from '#backends/mcp/names/names.ts'
import type { Catalog } from '#backends/mcp/session/session.ts'
import { failure, type LinkFailure, type Target } from '#backends/mcp/targets/target.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'
import { isKeptBack } from '#engine/contract/outbound.ts'
import { type Call, requestTo } from './call.ts'

/** How long a listed name is believed; a name that is not listed is looked for again, but not more often than this. */
const CATALOG_TTL_MS = 60_000
const CATALOG_RETRY_MS = 1_000

let searches = 0

/** Sets of names, shared by the sessions that have the same: by backend, then by kind and target. */
const sets = new WeakMap<object, Map<string, ReadonlySet<string>>>()

/** `backend`: the object whose sessions share the sets. */
export function sharedNames(backend: object, key: string, names: readonly string[]): ReadonlySet<string> {
  const own = new Set(names)
  const all = sets.get(backend) ?? new Map<string, ReadonlySet<string>>()
  sets.set(backend, all)
  const last = all.get(key)
  if (last?.size === own.size && [...own].every((name) => last.has(name))) return last
  all.set(key, own)
  return own
}

/** What is looked for. `owned`: the one target that can have it; null: any. `args`: arguments of the call. */
export interface NameQuery {
  readonly kind: 'tool' | 'prompt'
  readonly name: string
  readonly owned: OwnedName | null
  readonly args: McpItem['arguments']
}

export function findOwners(
  call: Call,
  { kind, name: requested, owned, args }: NameQuery,
  done: (owners: readonly OwnedName[] | LinkFailure) => void
): void {
  const { services, reply } = call
  const targets = owned === null ? services.targets.all : [services.targets.get(owned.target)]
  const name = owned?.name ?? requested
  const owners: OwnedName[] = []
  let missing = targets.length
  let failed: LinkFailure | null = null
  let hidden: McpItem | null = null
  let isGone = false
  const stops: (() => void)[] = []
  reply.onGone = () => {
    isGone = true
    for (const stop of stops) stop()
  }
  for (const target of targets) {
    const stop = readCatalog(call, { kind, name, isOnly: targets.length === 1 }, target, (catalog) => {
      if (isGone) return
      if ('kind' in catalog) failed = catalog
      else if (catalog.names.has(name)) {
        const item: McpItem = { kind, target: target.name, name, arguments: args }
        // A hidden name does not make another one ambiguous.
        if (services.mayUse(reply.ex, item)) owners.push({ target: target.name, name })
        else hidden = item
      }
      if (--missing > 0) return
      if (owners.length === 0 && hidden !== null) services.noteDenial(reply.ex, hidden)
      if (failed !== null && (owners.length === 0 || services.backend.failureMode === 'failClosed')) done(failed)
      else done(owners)
    })
    if (stop !== null) stops.push(stop)
  }
}

/** Null: the session remembers it. `isOnly`: no other target can have the name. */
function readCatalog(
  call: Call,
  { kind, name, isOnly }: { readonly kind: 'tool' | 'prompt'; readonly name: string; readonly isOnly: boolean },
  target: Target,
  done: (catalog: Catalog | LinkFailure) => void
): (() => void) | null {
  const { services, session } = call
  const key = `${kind} ${target.name}`
  if (isOnly && target.staticLists === undefined && isKeptBack(`${target.name}: ${kind}s/list, which is to name it`)) {
    // The call is only explained: what follows holds if the target has the name.
    done({ at: 0, names: new Set([name]) })
    return null
  }
  const known = session.catalogs.get(key)
  const age = known === undefined ? Number.POSITIVE_INFINITY : performance.now() - known.at
  if (known !== undefined && age < (known.names.has(name) ? CATALOG_TTL_MS : CATALOG_RETRY_MS)) {
    done(known)
    return null
  }
  const method = `${kind}s/list`
  const query: ListQuery = {
    method,
    kind: LISTS.get(method)!,
    meta: null,
    id: `weir-names-${++searches}`,
    message() {},
    // A cached list without the name is fetched again.
    neededName: name
  }
  return fetchList(requestTo(call, target, services.backend.targetTimeoutMs), query, (listed) => {
    if (listed.failure !== null) done(listed.failure)
    else if (listed.error !== null && !isUnsupported(listed))
      done(failure('refused', listed.error.message.slice(0, 200)))
    else {
      const names = listed.pages.flatMap((page) => page.names)
      const catalog = { at: performance.now(), names: sharedNames(services, key, names) }
      session.catalogs.set(key, catalog)
      done(catalog)
    }
  })
}
