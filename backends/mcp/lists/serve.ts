/** Replies to requests for lists: of one target page by page, of several targets as one page. */

import { type Call, replyFailure, requestTo, trackRunning } from '#backends/mcp/calls/call.ts'
import { completeResult } from '#backends/mcp/calls/stateless-result.ts'
import { StreamRelay } from '#backends/mcp/calls/stream-relay.ts'
import { sendRequest } from '#backends/mcp/calls/target-request.ts'
import { messageForClient } from '#backends/mcp/names/messages.ts'
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '#backends/mcp/protocol/json-rpc.ts'
import { STATELESS } from '#backends/mcp/protocol/revisions.ts'
import type { LinkEvents, LinkFailure } from '#backends/mcp/targets/target.ts'
import { TTL_MAX_MS } from './cache.ts'
import { type CacheSlot, cacheSlotOf, Freshness } from './cache-slot.ts'
import { composeList } from './compose.ts'
import { fetchList, isUnsupported, metaOf, type TargetList, UNREADABLE } from './fetch.ts'
import type { ListKind } from './kinds.ts'
import { type Page, pageOf, pageOfResult } from './page.ts'
/** `forward`: sends the request to the only target as it is. */
export function serveList(call: Call, kind: ListKind, forward: () => void): void {
  const { services, reply, session, message } = call
  if (services.names.isMultiplexed) {
    serveMerged(call, kind)
    return
  }
  const { name } = services.targets.all[0]!
  const { cache } = services.listChanges
  const { method, params } = message
  const partition = services.listChanges.partitionOf(name)
  const headers = services.forwardedHeaders(reply.ex)
  const slot = cacheSlotOf({ ex: reply.ex, cache, partition, session, headers, method, kind, params, isWhole: false })
  const cached = slot?.get()
  if (cached != null) {
    reply.ex.mcp!.target = name
    replyPage(call, kind, cached.pages[0]!, cached.until - cache.now)
  } else if (slot?.mayBeCached || services.hasRules(name) || services.names.isPrefixed) servePage(call, kind, slot)
  else forward()
}

/** From one target: page by page, under the target's own cursors. */
function servePage(call: Call, kind: ListKind, slot: CacheSlot | null): void {
  const { services, reply, session, message } = call
  const { names, listChanges, backend } = services
  const target = services.targets.all[0]!
  reply.ex.mcp!.target = target.name
  const finish = trackRunning(call, [target.name])
  const freshness = new Freshness(session)
  const take = (page: Page): void => {
    freshness.add(page, listChanges.cache.now, TTL_MAX_MS)
    slot?.set([page], freshness)
    replyPage(call, kind, page, null)
  }
  const fail = (why: LinkFailure): void => replyFailure(call, target.name, why)
  const stream = new StreamRelay(reply, session, null, finish)
  const events: LinkEvents = {
    message: (serverMessage, eventId) =>
      reply.message(messageForClient(names, target.name, serverMessage), stream.idOf(eventId)),
    stream,
    cacheHints: (ttlMs, cacheScope) => freshness.cacheHints(ttlMs, cacheScope),
    answered: (response) => {
      finish()
      if ('error' in response) reply.respond(response)
      else take(pageOfResult(response.result, target.name, kind, names))
    },
    answeredBytes: (json) => {
      finish()
      const page = pageOf(json, message.id, target.name, kind, names)
      if (page === null) fail(UNREADABLE)
      else if ('error' in page) reply.respond(page)
      else take(page)
    },
    failed: (why) => {
      finish()
      fail(why)
    }
  }
  const isWaitedFor = services.hasRules(target.name) || names.isPrefixed
  const stop = sendRequest(requestTo(call, target, isWaitedFor ? backend.targetTimeoutMs : 0), message, events)
  reply.onGone = () => {
    finish()
    stop()
  }
}

/** `leftMs`: what is left of its TTL in the cache; null: it has just come. */
function replyPage(
  { services, reply, session, message }: Call,
  kind: ListKind,
  page: Page,
  leftMs: number | null
): void {
  const { otherMembers, hints } = page
  const target = services.targets.all[0]!.name
  let rest = otherMembers
  if (hints !== null) {
    const ttlMs = leftMs === null || session.version !== STATELESS ? hints.ttlMs : Math.max(0, Math.floor(leftMs))
    // What rules let this caller see is not for others.
    const cacheScope = hints.isPublic && !services.hasRules(target) ? 'public' : 'private'
    rest = `${rest === '' ? '' : `${rest},`}"ttlMs":${ttlMs},"cacheScope":"${cacheScope}"`
  }
  const shown = { services, ex: reply.ex, kind, rest }
  reply.respondBytes(composeList(shown, message.id, [{ target, pages: [page] }], leftMs !== null))
}

function serveMerged(call: Call, kind: ListKind): void {
  const { services, reply, message } = call
  if (message.params?.cursor !== undefined) {
    reply.error(message.id, INVALID_PARAMS, 'Invalid cursor: this list has one page')
    return
  }
  const finish = trackRunning(call, [...services.names.targets])
  const all = new Map<string, TargetList>()
  const stops = services.targets.all.map((target) =>
    fetchList(
      requestTo(call, target, services.backend.targetTimeoutMs),
      {
        method: message.method,
        kind,
        meta: metaOf(message.params),
        id: message.id,
        message: (serverMessage) => reply.message(messageForClient(services.names, target.name, serverMessage), null),
        neededName: null
      },
      (listed) => {
        all.set(target.name, listed)
        if (all.size < services.targets.all.length) return
        finish()
        replyMerged(call, kind, all)
      }
    )
  )
  reply.onGone = () => {
    finish()
    for (const stop of stops) stop()
  }
}

function replyMerged(call: Call, kind: ListKind, all: ReadonlyMap<string, TargetList>): void {
  const { services, reply, message, session } = call
  const listed = services.targets.all.map(({ name }) => all.get(name)!)
  const bad = listed.filter((one) => (one.failure !== null || one.error !== null) && !isUnsupported(one))
  const [first] = bad
  if (first !== undefined && (services.backend.failureMode === 'failClosed' || bad.length === listed.length)) {
    if (first.failure !== null) replyFailure(call, first.target, first.failure)
    else {
      // The target's own words are for the client.
      reply.ex.errorDetail ??= `target ${first.target} answers with an error`
      reply.error(message.id, first.error!.code, `target ${first.target}: ${first.error!.message}`)
    }
    return
  }
  if (listed.every(isUnsupported)) {
    reply.error(message.id, METHOD_NOT_FOUND, 'Method not found')
    return
  }
  const rest = session.version === STATELESS ? COMPLETE : ''
  const isCached = listed.every((one) => one.isCached)
  reply.respondBytes(composeList({ services, ex: reply.ex, kind, rest }, message.id, listed, isCached))
}

const COMPLETE = JSON.stringify(completeResult({})).slice(1, -1)
