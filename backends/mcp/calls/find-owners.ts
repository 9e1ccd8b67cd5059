/**
 * Whose a plain name is, and whether it is anybody's: found in the lists of the targets, which are remembered for a
 * while by session. With rules, only what a target lists can be called: so nobody can tell hidden from unknown.
 */

import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { isWithout, listAll } from '#backends/mcp/lists/fetch.ts'
import { LISTS } from '#backends/mcp/lists/kinds.ts'
import type { Owned } from '#backends/mcp/names/names.ts'
import type { Core } from '#backends/mcp/services.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { LinkFailure } from '#backends/mcp/targets/target.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'

/** For so long a list is believed; a name that is not on it is looked for again, but not more often than this. */
const BELIEVED_MS = 60_000
const AGAIN_MS = 1_000

export interface Catalog {
  readonly at: number
  readonly names: ReadonlySet<string>
}

let searches = 0

/** Sets of names, the same for most sessions: kept once, by kind and target, as long as any session has them. */
const shared = new WeakMap<object, Map<string, ReadonlySet<string>>>()

/** `place`: whose sessions share them. */
export function namesOf(place: object, key: string, names: readonly string[]): ReadonlySet<string> {
  const own = new Set(names)
  const all = shared.get(place) ?? new Map<string, ReadonlySet<string>>()
  shared.set(place, all)
  const last = all.get(key)
  if (last?.size === own.size && [...own].every((name) => last.has(name))) return last
  all.set(key, own)
  return own
}

/** `owned`: the one target that can have it, or null for any. `given`: arguments of the call. */
export function ownersOf(
  core: Core,
  reply: Reply,
  session: Session,
  kind: 'tool' | 'prompt',
  name: string,
  owned: Owned | null,
  given: McpItem['arguments'],
  done: (owners: readonly Owned[] | LinkFailure) => void
): void {
  const targets = owned === null ? core.peers.all : [core.peers.get(owned.target)]
  const plain = owned?.name ?? name
  const owners: Owned[] = []
  let missing = targets.length
  let failed: LinkFailure | null = null
  let isGone = false
  const stops: (() => void)[] = []
  reply.onGone = () => {
    isGone = true
    for (const stop of stops) stop()
  }
  const heard = (target: string, catalog: Catalog | LinkFailure): void => {
    if (isGone) return
    if ('kind' in catalog) failed = catalog
    // What is hidden does not make a name ambiguous.
    else if (catalog.names.has(plain) && core.mayUse(reply.ex, { kind, target, name: plain, arguments: given }))
      owners.push({ target, name: plain })
    if (--missing > 0) return
    if (failed !== null && (owners.length === 0 || core.backend.failureMode === 'failClosed')) done(failed)
    else done(owners)
  }
  for (const { name: target } of targets) {
    const stop = search(core, reply, session, kind, target, plain, (catalog) => heard(target, catalog))
    if (stop !== null) stops.push(stop)
  }
}

function search(
  core: Core,
  reply: Reply,
  session: Session,
  kind: 'tool' | 'prompt',
  target: string,
  name: string,
  done: (catalog: Catalog | LinkFailure) => void
): (() => void) | null {
  const key = `${kind} ${target}`
  const known = session.catalogs.get(key)
  const age = known === undefined ? Number.POSITIVE_INFINITY : performance.now() - known.at
  if (known !== undefined && age < (known.names.has(name) ? BELIEVED_MS : AGAIN_MS)) {
    done(known)
    return null
  }
  const method = `${kind}s/list`
  const headers = core.peers.headersOf(reply.ex)
  const asking = core.asking(session, core.peers.get(target), headers, core.backend.targetTimeoutMs)
  const listKind = LISTS.get(method)!
  const id = `weir-names-${++searches}`
  // A list that is remembered is asked for again when the name is not on it.
  const order = { method, kind: listKind, names: core.names, meta: null, id, message() {}, wanted: name }
  return listAll(asking, order, (listed) => {
    if (listed.failure !== null) done(listed.failure)
    else if (listed.error !== null && !isWithout(listed))
      done({ kind: 'refused', status: null, message: listed.error.message.slice(0, 200) })
    else {
      const names = namesOf(
        core,
        key,
        listed.pages.flatMap((page) => page.names)
      )
      const catalog = { at: performance.now(), names }
      session.catalogs.set(key, catalog)
      done(catalog)
    }
  })
}
