/** What clients get who ask for a list: of one target page by page, of several all in one. */

import { fail, under } from '#backends/mcp/calls/forward.ts'
import { complete } from '#backends/mcp/calls/stateless-result.ts'
import { PassedStream } from '#backends/mcp/calls/stream-relay.ts'
import { ask } from '#backends/mcp/calls/target-request.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import type { ListKind } from '#backends/mcp/lists/kinds.ts'
import { outwardMessage } from '#backends/mcp/names/messages.ts'
import { INVALID_PARAMS, METHOD_NOT_FOUND, type RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { STATELESS } from '#backends/mcp/protocol/revisions.ts'
import type { Core } from '#backends/mcp/services.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { LinkEvents } from '#backends/mcp/targets/target.ts'
import { TTL_MAX_MS } from './cache.ts'
import { Freshness, type Place, placeOf } from './cache-slot.ts'
import { shownList } from './compose.ts'
import { isWithout, type ListedBy, listAll, metaOf, UNREADABLE } from './fetch.ts'
import { type Page, pageOf, pageOfResult } from './page.ts'

export interface ListCall {
  readonly core: Core
  readonly reply: Reply
  readonly session: Session
  readonly message: RpcRequest
}

/** `pass`: sends the request on as it is, and its answer back. */
export function list(call: ListCall, kind: ListKind, pass: () => void): void {
  const { core, reply, session, message } = call
  if (core.names.isTagged) {
    listOfMany(call, kind)
    return
  }
  const [only] = core.peers.all
  const { news } = core
  const { method, params } = message
  const shelf = news.shelf(only!.name)
  const headers = core.peers.headersOf(reply.ex)
  const place = placeOf({ cache: news.cache, shelf, session, headers, method, kind, params, isWhole: false })
  const known = place?.get()
  if (known != null) {
    reply.ex.mcp!.target = only!.name
    show(call, kind, known.pages[0]!, known.until - news.cache.now)
  } else if (place?.isPromising || core.hasRules(only!.name) || core.names.isPrefixed) listPage(call, kind, place)
  else pass()
}

/** Of one target: pages pass one by one, under the target's own cursors. */
function listPage(call: ListCall, kind: ListKind, place: Place | null): void {
  const { core, reply, session, message } = call
  const { names, news, backend } = core
  const target = core.peers.all[0]!
  reply.ex.mcp!.target = target.name
  const finish = under(session, message.id, [target.name])
  const freshness = new Freshness(session)
  const take = (page: Page): void => {
    freshness.add(page, news.cache.now, TTL_MAX_MS)
    place?.set([page], freshness)
    show(call, kind, page, null)
  }
  const stream = new PassedStream(reply, session, null, finish)
  const events: LinkEvents = {
    message: (given, eventId) => reply.message(outwardMessage(names, target.name, given), stream.idOf(eventId)),
    stream,
    hinted: (ttlMs, cacheScope) => freshness.hinted(ttlMs, cacheScope),
    answered: (response) => {
      finish()
      if ('error' in response) reply.respond(response)
      else take(pageOfResult(response.result, target.name, kind, names))
    },
    answeredBytes: (json) => {
      finish()
      const page = pageOf(json, message.id, target.name, kind, names)
      if (page === null) fail(core, reply, session, message.id, target.name, UNREADABLE)
      else if ('error' in page) reply.respond(page)
      else take(page)
    },
    failed: (failure) => {
      finish()
      fail(core, reply, session, message.id, target.name, failure)
    }
  }
  const mustBeRead = core.hasRules(target.name) || names.isPrefixed
  const timeoutMs = mustBeRead ? backend.targetTimeoutMs : 0
  const stop = ask(core.asking(session, target, core.peers.headersOf(reply.ex), timeoutMs), message, events)
  reply.onGone = () => {
    finish()
    stop()
  }
}

/** `leftMs`: how long it may yet be believed; null: as long as the server has just said. */
function show({ core, reply, session, message }: ListCall, kind: ListKind, page: Page, leftMs: number | null): void {
  const { others, hints } = page
  const target = core.peers.all[0]!.name
  let rest = others
  if (hints !== null) {
    const ttlMs = leftMs === null || session.version !== STATELESS ? hints.ttlMs : Math.max(0, Math.floor(leftMs))
    // What this caller sees is not for others.
    const cacheScope = hints.isPublic && !core.hasRules(target) ? 'public' : 'private'
    rest = `${rest === '' ? '' : `${rest},`}"ttlMs":${ttlMs},"cacheScope":"${cacheScope}"`
  }
  const shown = { core, ex: reply.ex, kind, rest }
  reply.respondBytes(shownList(shown, message.id, [{ target, pages: [page] }], leftMs !== null))
}

function listOfMany(call: ListCall, kind: ListKind): void {
  const { core, reply, session, message } = call
  if (message.params?.cursor !== undefined) {
    reply.error(message.id, INVALID_PARAMS, 'Invalid cursor: this list has one page')
    return
  }
  const finish = under(session, message.id, [...core.names.targets])
  const headers = core.peers.headersOf(reply.ex)
  const all = new Map<string, ListedBy>()
  const stops = core.peers.all.map((target) =>
    listAll(
      core.asking(session, target, headers, core.backend.targetTimeoutMs),
      {
        method: message.method,
        kind,
        names: core.names,
        meta: metaOf(message.params),
        id: message.id,
        message: (given) => reply.message(outwardMessage(core.names, target.name, given), null),
        wanted: null
      },
      (listed) => {
        all.set(target.name, listed)
        if (all.size < core.peers.all.length) return
        finish()
        merged(call, kind, all)
      }
    )
  )
  reply.onGone = () => {
    finish()
    for (const stop of stops) stop()
  }
}

function merged(call: ListCall, kind: ListKind, all: ReadonlyMap<string, ListedBy>): void {
  const { core, reply, message, session } = call
  const listed = core.peers.all.map(({ name }) => all.get(name)!)
  const bad = listed.filter((one) => (one.failure !== null || one.error !== null) && !isWithout(one))
  const [first] = bad
  if (first !== undefined && (core.backend.failureMode === 'failClosed' || bad.length === listed.length)) {
    if (first.failure !== null) fail(core, reply, session, message.id, first.target, first.failure)
    else reply.error(message.id, first.error!.code, `target ${first.target}: ${first.error!.message}`)
    return
  }
  if (listed.every(isWithout)) {
    reply.error(message.id, METHOD_NOT_FOUND, 'Method not found')
    return
  }
  const rest = session.version === STATELESS ? COMPLETE : ''
  const isKept = listed.every(({ isKnown }) => isKnown)
  reply.respondBytes(shownList({ core, ex: reply.ex, kind, rest }, message.id, listed, isKept))
}

const COMPLETE = JSON.stringify(complete({})).slice(1, -1)
