/** What would become of a request under a configuration: nothing is sent, asked or taken. */

import type { BudgetStates } from '#engine/accounts/ledger.ts'
import { type Judge, type LookedKey, lookedKey, lookingAccounts } from '#engine/accounts/looking.ts'
import { accountsIn } from '#engine/build/accounts.ts'
import { buildRuntime, type Runtime, type RuntimeDeps } from '#engine/build/runtime.ts'
import type { KeySpec } from '#engine/contract/accounts.ts'
import { headersBeforeAttempt } from '#engine/contract/attempt-headers.ts'
import type { Buckets } from '#engine/contract/buckets.ts'
import type { HostLists } from '#engine/contract/endpoint.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { PriceRow, PriceSettings } from '#engine/contract/price-list.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import { hostOf } from '#engine/http/authority.ts'
import type { Places } from '#engine/ir/places.ts'
import type { Listener, RouteSpec, Snapshot } from '#engine/ir/snapshot.ts'
import { withoutKeys } from '#engine/kit/sensitive.ts'
import { Prices } from '#engine/prices/book.ts'
import { nearestFirst } from '#engine/routing/misses.ts'
import { sharesOf } from '#engine/story/shares.ts'
import { shownHeaders, shownTarget, shownText } from '#engine/story/shown.ts'
import { type Connected, connect } from './connection.ts'
import type { OtherRoute } from './dry-parts.ts'
import { type DryResult, DryRun, type HookRun } from './dry-run.ts'
import type { Explanation, Outcome, Placed, PolicyStep, Upstream } from './explanation.ts'
import { FULL_BUCKETS, observedBuckets } from './observed-buckets.ts'
import type { DryRequest } from './request.ts'
import { NOT_COUNTED, NOT_JUDGED, shownCall, shownKey } from './shown-call.ts'
import type { SimulatedAnswer } from './simulated-client.ts'

/** What explanations are made with, beside the configuration. */
export interface ExplainParts
  extends Pick<RuntimeDeps, 'policies' | 'backends' | 'children' | 'secret' | 'revocations'> {
  readonly offload: RuntimeDeps['services']['offload']
  /** What buckets hold, of which nothing is taken; null: no gateway runs, so that all are full. */
  readonly buckets: Buckets | null
  /** Keys of clients that the configuration does not have: the API has made them. */
  readonly madeKeys: readonly KeySpec[]
  /** What is used of budgets; null: no gateway runs. Rejects where that cannot be asked. */
  readonly budgets: (() => Promise<BudgetStates>) | null
  /** Limits of keys are kept at a server, and not in `buckets`. */
  readonly hasServer: boolean
  /** Read when a price is asked for that the configuration does not have. */
  readonly priceCatalogue: () => readonly PriceRow[]
  readonly places: Places | null
  /** Hosts that are known without DNS. */
  readonly hosts: HostLists
}

export async function explain(snapshot: Snapshot, request: DryRequest, parts: ExplainParts): Promise<Explanation> {
  return await new Explainer(snapshot, request, parts).run()
}

const OTHERS_MAX = 5
const BODY_CHARS_MAX = 2_000

class Explainer {
  readonly #snapshot: Snapshot
  readonly #request: DryRequest
  readonly #parts: ExplainParts
  readonly #connected: Connected
  readonly #prices: Prices
  #runtime: Runtime | null = null

  constructor(snapshot: Snapshot, request: DryRequest, parts: ExplainParts) {
    this.#snapshot = snapshot
    this.#request = request
    this.#parts = parts
    this.#connected = connect(snapshot, request)
    this.#prices = new Prices(parts.priceCatalogue)
    const settings = snapshot.gateway.frontend.prices as PriceSettings | undefined
    if (settings !== undefined) this.#prices.use(settings).begin()
  }

  async run(): Promise<Explanation> {
    const { refused, notes } = this.#connected
    if (refused !== null) return this.#explanation(null, { kind: 'connection', detail: refused }, notes)
    const judge = await this.#judge()
    const run = new DryRun(this.#snapshot, this.#request, this.#connected, {
      build: (snapshot, { recorder, lifecycle, limitSeen, ...ends }) => {
        const { offload, buckets, policies, backends, children, secret, revocations, places, madeKeys } = this.#parts
        const { spec, globals } = accountsIn(snapshot, policies)
        const accounts = lookingAccounts(spec, globals, madeKeys, judge)
        const limits = observedBuckets(buckets ?? FULL_BUCKETS, limitSeen)
        this.#runtime = buildRuntime(snapshot, {
          ...{ policies, backends, children, secret, revocations, places, ...ends },
          services: {
            ...NO_SERVICES,
            state: newStateStore(),
            offload,
            buckets: limits,
            accounts,
            prices: this.#prices
          },
          recorderFor: () => recorder,
          tcpRecorderFor: () => ({ record() {} }),
          mirrorRecorderFor: () => ({ record() {}, dropped() {} }),
          fail: (ex, code) => lifecycle.fail(ex, code),
          reply: (ex, reply) => lifecycle.reply(ex, reply),
          mirror: (ex, mirrors) => lifecycle.mirrors.begin(ex, mirrors)
        })
        return this.#runtime
      },
      hosts: this.#parts.hosts,
      others: (ex) => this.#otherRoutes(ex)
    })
    const all = (result: DryResult) => [...notes, ...notesOf(result), ...keptNotes(result, this.#snapshot)]
    return await run.run((result) => this.#explanation(result, outcomeOf(result), all(result)))
  }

  /** Null: nobody knows what is used. */
  async #judge(): Promise<Judge | null> {
    const { budgets, buckets, hasServer } = this.#parts
    const states = await budgets?.().catch(() => null)
    const { currency } = this.#prices
    return states == null ? null : { budgets: states, buckets: hasServer ? null : buckets, now: Date.now(), currency }
  }

  #explanation(result: DryResult | null, outcome: Outcome, notes: readonly string[]): Explanation {
    const { method, from, isTls, authority, target } = this.#request
    const httpVersion = this.#connected.isHttp2 ? '2' : '1.1'
    const url = `${isTls ? 'https' : 'http'}://${shownText(authority)}${shownTarget(target)}`
    const ex = result?.ex ?? null
    const key = ex && lookedKey(ex)
    const listener = ex?.listener == null ? null : this.#listenerOf(ex.listener.name)
    return {
      request: { method: shownText(method), url, httpVersion, from },
      listener: listener && { ...this.#placed(listener.path), ...namesOf(listener.spec), port: this.#request.port },
      otherListeners: this.#otherListeners(listener?.spec ?? null),
      route: ex?.route == null ? null : this.#routeOf(ex),
      otherRoutes: result?.others ?? [],
      policies: result === null ? [] : this.#steps(result),
      key: key && shownKey(key, this.#prices.currency),
      upstream: result === null ? null : this.#upstream(result),
      outcome,
      notes
    }
  }

  #placed(path: string): Placed {
    return { path, source: this.#parts.places?.find(path) ?? null }
  }

  #listenerOf(name: string): { readonly spec: Listener; readonly path: string } | null {
    const { bind, bindIndex } = this.#connected
    const index = bind?.listeners.findIndex((one) => one.name === name) ?? -1
    if (index < 0) return null
    return { spec: bind!.listeners[index]!, path: `binds[${bindIndex}].listeners[${index}]` }
  }

  #otherListeners(chosen: Listener | null): Explanation['otherListeners'] {
    const { bind, bindIndex } = this.#connected
    const { authority, isTls } = this.#request
    const host = hostOf(authority.toLowerCase())
    return (bind?.listeners ?? []).flatMap((one, i) => {
      const why = one === chosen ? null : whyNot(one, host, isTls, chosen)
      return why === null ? [] : [{ ...this.#placed(`binds[${bindIndex}].listeners[${i}]`), name: one.name, why }]
    })
  }

  // --- routes ---

  #routeIndex(ex: Exchange): { readonly listener: Listener; readonly path: string; readonly index: number } | null {
    const { route, listener } = ex
    const found = listener === null ? null : this.#listenerOf(listener.name)
    if (found === null || route === null) return null
    const isIt = (spec: RouteSpec) => spec.name === route.name && (spec.rule ?? '') === route.rule
    return { listener: found.spec, path: found.path, index: found.spec.routes.findIndex(isIt) }
  }

  #routeOf(ex: Exchange): Explanation['route'] {
    const found = this.#routeIndex(ex)
    if (found === null) return null
    const path = `${found.path}.routes[${found.index}]`
    return { ...this.#placed(path), name: found.listener.routes[found.index]!.name, match: `matches[${ex.matchIndex}]` }
  }

  #otherRoutes(ex: Exchange): OtherRoute[] {
    const found = ex.listener === null ? null : this.#listenerOf(ex.listener.name)
    if (found === null) return []
    const taken = this.#routeIndex(ex)?.index ?? -1
    const { routes } = found.spec
    const misses = nearestFirst(routes, ex, hostOf(ex.authority))
    const missed = misses
      .filter(({ routeIndex }) => routeIndex !== taken)
      .map(({ route, routeIndex, matchIndex, why }) => {
        return { ...this.#placed(`${found.path}.routes[${routeIndex}].matches[${matchIndex}]`), name: route, why }
      })
    const seen = new Set(misses.map(({ routeIndex }) => routeIndex))
    const fitting = routes.flatMap((route, i) =>
      i === taken || seen.has(i) || i >= LOOKED_AT_MAX
        ? []
        : [{ ...this.#placed(`${found.path}.routes[${i}]`), name: route.name, why: 'it matches too, less precisely' }]
    )
    return [...fitting, ...missed].slice(0, OTHERS_MAX)
  }

  // --- policies ---

  #steps({ ex, runs }: DryResult): PolicyStep[] {
    const pre = runs.filter(({ isPreRouting }) => isPreRouting)
    const post = runs.filter(({ isPreRouting }) => !isPreRouting)
    const placesOf = (name: string): Placed[] => (ex?.route?.placesOf?.(name) ?? []).map((path) => this.#placed(path))
    const before = (name: string): Placed[] => (ex?.listener?.placesOf?.(name) ?? []).map((path) => this.#placed(path))
    const steps = [...new Set(pre.map(({ owner }) => owner.name))].map((name) =>
      stepOf(name, 'PreRouting', before(name), pre)
    )
    const names = this.#policyNames(ex)
    // Those that wait for a body have no name in the configuration.
    const unnamed = post.filter(({ owner, side }) => side === 'request' && !names.includes(owner.name))
    const all = [...unnamed.map(({ owner }) => owner.name).filter((name) => name !== BODY), ...names]
    const hasEnded = pre.some(isEnd)
    for (const name of new Set(all)) {
      const step = stepOf(name, 'PostRouting', placesOf(name), post)
      const own = ex?.route?.hookOwners
      const isOf = (side: 'request' | 'response') => own?.[side].some((owner) => owner.name === name) === true
      const isSeen = post.some(({ owner, side }) => side === 'request' && owner.name === name)
      const idle = isOf('request') ? 'unreached' : isOf('response') ? 'response' : 'setting'
      steps.push(isSeen && !hasEnded ? step : { ...step, verdict: idle })
    }
    return steps
  }

  #policyNames(ex: Exchange | null): readonly string[] {
    const { route } = ex ?? {}
    if (route == null) return []
    const isIt = (one: { name: string; rule?: string; listener: string; port: number }) =>
      one.name === route.name &&
      (one.rule ?? '') === route.rule &&
      one.listener === route.listener &&
      one.port === route.port
    return this.#runtime?.describe().routes.find(isIt)?.policies ?? []
  }

  // --- the backend ---

  #upstream({ ex, sentTo, hosts, bodyBytes, asks, mirrors, answer }: DryResult): Upstream | null {
    if (ex === null || (sentTo === null && asks.length === 0) || ex.backend === null) return null
    const { llm, mcp } = ex
    const call = answer === null ? (ex.serving?.explain?.(ex) ?? null) : null
    const found = this.#routeIndex(ex)
    const references = found?.listener.routes[found.index]?.backends ?? []
    return {
      ...this.#placed(`backends.${ex.backend}`),
      backend: ex.backend,
      kind: ex.backendType?.kind ?? '',
      endpoint: sentTo?.name ?? null,
      hosts: sentTo === null ? null : hosts,
      isTls: sentTo?.isTls === true,
      method: ex.method,
      host: ex.upstreamHost ?? ex.authority,
      target: shownTarget(`${ex.path}${ex.query}`),
      headers: shownHeaders(ex.request, headersBeforeAttempt(ex)),
      bodyBytes,
      shares: sharesOf(references.map(({ backend: name, weight }) => ({ name, weight }))),
      llm: llm && {
        provider: llm.provider ?? null,
        model: llm.requestModel === undefined ? null : shownText(llm.requestModel),
        operation: llm.operation ?? null,
        call: call && shownCall(call)
      },
      mcp: mcp && {
        method: mcp.method === undefined ? null : shownText(mcp.method),
        target: mcp.item?.target ?? mcp.target ?? null,
        item: mcp.item === null ? null : `${mcp.item.kind} ${shownText(mcp.item.name)}`
      },
      asks,
      mirrors
    }
  }
}

/** More routes are not compared. */
const LOOKED_AT_MAX = 256
/** Owner of the hooks that wait for a body. */
const BODY = 'body'

const isEnd = ({ verdict, side }: HookRun): boolean => side === 'request' && verdict === 'answers'

const namesOf = ({ name, hostname }: Listener) => ({ name, hostname })

/** Null: of the listeners that fit, one has refused the connection. The outcome says why. */
function whyNot(
  { hostname, protocol, tls }: Listener,
  host: string,
  isTls: boolean,
  chosen: Listener | null
): string | null {
  if (protocol === 'TCP' || protocol === 'TLS') return `its protocol is ${protocol}`
  if ((tls !== null) !== isTls) return isTls ? 'it speaks HTTP without TLS' : 'it speaks TLS'
  const isCovered = ['*', host].includes(hostname) || (hostname.startsWith('*') && host.endsWith(hostname.slice(1)))
  if (!isCovered) return `its hostname is "${hostname}", asked is "${shownText(host)}"`
  return chosen === null ? null : 'another one names the host more precisely'
}

function stepOf(
  name: string,
  phase: PolicyStep['phase'],
  places: readonly Placed[],
  runs: readonly HookRun[]
): PolicyStep {
  const own = runs.filter(({ owner, side }) => owner.name === name && side === 'request')
  const last = own.find(isEnd) ?? own.find(({ verdict }) => verdict === 'asks') ?? own[0]
  const all = <T>(list: (run: HookRun) => readonly T[]): T[] => own.flatMap((run) => list(run))
  return {
    policy: name,
    phase,
    places,
    verdict: last?.verdict ?? 'passes',
    detail: last?.detail == null ? null : shownText(last.detail),
    expressions: all(({ expressions }) => expressions),
    changes: all(({ changes }) => changes),
    asks: all(({ asks }) => asks),
    limits: all(({ limits }) => limits)
  }
}

function outcomeOf(result: DryResult): Outcome {
  const { ex, sentTo, asks, undecided } = result
  if (result.answer !== null) return answerOf(result, result.answer)
  if (sentTo !== null || (asks.length > 0 && ex?.backend != null)) return { kind: 'upstream' }
  if (result.broken !== null) return { kind: 'connection', detail: result.broken }
  if (undecided !== null) return { kind: 'undecided', detail: undecided }
  return { kind: 'connection', detail: 'the connection would be closed without an answer' }
}

function answerOf({ ex, runs, detail }: DryResult, { status, body }: SimulatedAnswer): Outcome {
  return {
    kind: 'answer',
    status,
    code: ex?.error ?? null,
    mcpErrorCode: ex?.mcp?.errorCode ?? null,
    detail: detail === null ? null : shownText(detail, BODY_CHARS_MAX),
    policy: runs.find(isEnd)?.owner.name ?? null,
    headers: ex?.response == null ? [] : shownHeaders(ex.response),
    // The client gets it as it is; words about tokens are no tokens.
    body: withoutKeys(body.toString().slice(0, BODY_CHARS_MAX))
  }
}

function notesOf({ runs, ex }: DryResult): string[] {
  const asking = new Map(runs.flatMap(({ owner, verdict }) => (verdict === 'asks' ? [[owner.name, owner]] : [])))
  const assumed = [...asking.values()].map(({ name, identifies }) => {
    const unknown = identifies ?? 'its answer'
    return `${name} asks a service, which was not asked: what follows holds if it allows the request, and knows nothing of ${unknown}`
  })
  const many = ex?.route?.retry == null ? [] : ['what fails may be tried again (retry)']
  const key = ex && lookedKey(ex)
  return [...assumed, ...(key === null ? [] : unjudged(key)), ...many]
}

/** People who ask should know that others will read it. */
function keptNotes({ ex }: DryResult, { process }: Snapshot): string[] {
  const prompts = process.spendLog?.prompts
  if (prompts === undefined || ex?.llm == null) return []
  const where = prompts.isTraced ? 'its record and its trace have' : 'its record has'
  return [`${where} the prompt and the answer, as the guards leave them (config.spendLog.prompts)`]
}

function unjudged({ accounts, judged }: LookedKey): string[] {
  const isCounted = accounts.some(({ spec: { limits, budgets, concurrency } }) => {
    return limits.length > 0 || budgets.length > 0 || concurrency !== null
  })
  if (!isCounted) return []
  if (judged === null) return [NOT_JUDGED]
  const isWhole = accounts.every(
    ({ id, spec: { limits, concurrency } }) =>
      concurrency === null && limits.every((rate) => judged.leftOfRate(id, rate) !== null)
  )
  return isWhole ? [] : [NOT_COUNTED]
}
