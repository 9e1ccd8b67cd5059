/** Writes the story of one exchange while that goes on. */
import { performance } from 'node:perf_hooks'
import { detailOf, placeOf } from '#engine/contract/detail.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, type Verdict } from '#engine/contract/filter.ts'
import type { McpUse } from '#engine/contract/mcp-use.ts'
import { MODEL_ROUTING } from '#engine/contract/model-routing.ts'
import { costText, type ModelUse, totalBasis, totalCost } from '#engine/contract/model-use.ts'
import { requestIdOf } from '#engine/contract/request-id.ts'
import type { HookOwner } from '#engine/contract/route.ts'
import type { ServiceResult } from '#engine/contract/service.ts'
import type { ExchangeObserver, SharingBackend } from '#engine/contract/tracing.ts'
import { readsOf } from './reads.ts'
import { sharesOf } from './shares.ts'
import { shownTarget, shownText } from './shown.ts'
import type { AttemptStep, CallStep, Story, StoryStep } from './story.ts'
import type { Side } from './watch.ts'

/** Of its steps as JSON: with what stands around them a story has at most 64 KiB. */
const STEPS_BYTES_MAX = 48 * 1024

export class StoryWriter implements ExchangeObserver {
  readonly #id: string
  readonly #ex: Exchange
  readonly #request: Story['request']
  readonly #steps: StoryStep[] = []
  #bytes = 0
  /** Steps that had no room. */
  #left = 0
  #attempts = 0
  #attempt: AttemptStep | null = null
  #why = 'the first attempt'

  constructor(ex: Exchange, id: string) {
    this.#ex = ex
    this.#id = id
    const { client, method, authority } = ex
    const scheme = client.tls == null ? 'http' : 'https'
    this.#request = {
      method,
      url: `${scheme}://${shownText(authority)}${shownTarget(`${ex.originalPath}${ex.query}`)}`,
      httpVersion: client.httpVersion,
      from: client.remoteAddress
    }
  }

  routed(code: ErrorCode | null): void {
    const { listener, route, matchIndex } = this.#ex
    const at = this.#now()
    if (listener !== null) this.#add({ at, step: 'listener', name: listener.name, port: listener.port })
    const rule = route === null || route.rule === '' ? null : route.rule
    const match = matchIndex < 0 ? null : `matches[${matchIndex}]`
    this.#add({ at, step: 'route', name: route?.name ?? null, rule, match, code })
  }

  hook(owner: HookOwner, side: Side, hook: Hook): Verdict | Promise<Verdict> {
    const at = this.#now()
    const verdict = hook(this.#ex)
    if (typeof verdict === 'number') return this.#decided(owner, side, at, verdict)
    return verdict.then(
      (decided) => this.#decided(owner, side, at, decided),
      (error: unknown) => {
        this.#decided(owner, side, at, null)
        throw error
      }
    )
  }

  /** `verdict` null: the hook broke. */
  #decided<T extends Verdict | null>(owner: HookOwner, side: Side, at: number, verdict: T): T {
    const ex = this.#ex
    const ends = verdict !== CONTINUE && verdict !== null
    const detail = ends ? detailOf(ex) : null
    this.#add({
      at,
      step: 'policy',
      policy: owner.name,
      place: placeOf(ex, owner.name),
      side,
      verdict: verdict === null ? 'fails' : ends ? 'answers' : 'passes',
      took: this.#now() - at,
      detail: detail === null ? null : shownText(detail),
      expressions: side === 'request' ? readsOf(owner, ex) : []
    })
    return verdict
  }

  backendDrawn(all: readonly SharingBackend[], drawn: SharingBackend): void {
    const isAnyAway = all.some((one) => !one.isUsable())
    const turn = this.#attempts === 0 ? 'its turn by weight' : 'its turn by weight among those that were not tried'
    const why = isAnyAway ? `${turn}; some cannot be reached` : turn
    this.#add({ at: this.#now(), step: 'backend', name: drawn.name, shares: sharesOf(all), why })
  }

  calling(service: string, method: string, path: string): (result: ServiceResult) => void {
    const at = this.#now()
    const request = `${method} ${shownTarget(path)}`
    const call: CallStep = { at, step: 'call', service, request, took: null, result: null }
    this.#add(call)
    return (result) => {
      call.took = this.#now() - at
      call.result = result
    }
  }

  sending(ex: Exchange, { name, balancing }: Endpoint): void {
    this.#endAttempt()
    const { backend } = ex
    const drawn = MODEL_ROUTING.get(ex)
    const why = drawn === null ? this.#why : `${this.#why}; ${drawn.target} by ${drawn.strategy}: ${drawn.reason}`
    const [at, number] = [this.#now(), ++this.#attempts]
    const chosen = { backend, endpoint: shownText(name), why: shownText(why), balancing: balancing ?? null }
    const attempt: AttemptStep = { at, step: 'attempt', number, ...chosen, address: null }
    this.#attempt = attempt
    this.#add(attempt)
    // A backend may send again by itself.
    this.#why = 'its backend sends it again'
  }

  answered(status: number): void {
    this.#add({ at: this.#now(), step: 'first byte', status })
  }

  retrying({ status, retry }: Exchange, code: ErrorCode | null): void {
    this.#endAttempt()
    const reason = code === null ? `status ${status}` : code
    this.#why = `retry ${retry?.count ?? 1}, because of ${reason}`
    this.#add({ at: this.#now(), step: 'retry', why: reason })
  }

  /** It is over. */
  end(): Story {
    this.#endAttempt()
    const { startedAt, status, error, backend, llm, mcp, bytesReceived, bytesSent } = this.#ex
    const detail = error === null ? null : detailOf(this.#ex)
    return {
      id: this.#id,
      startedAt: new Date(performance.timeOrigin + startedAt).toISOString(),
      requestId: requestIdOf(this.#ex),
      request: this.#request,
      // A policy is written down when it has decided, behind what it has asked.
      steps: this.#steps.toSorted((a, b) => a.at - b.at),
      took: this.#now(),
      status: status === 0 && error !== null ? ERRORS[error].status : status,
      code: error,
      detail: detail === null ? null : shownText(detail),
      backend,
      bytes: { received: bytesReceived, sent: bytesSent },
      llm: llm && modelOf(llm),
      mcp: mcp && callOf(mcp),
      notes: this.#left === 0 ? [] : [`${this.#left} more steps have no room in a story`]
    }
  }

  #endAttempt(): void {
    if (this.#attempt !== null) this.#attempt.address = this.#ex.endpoint
    this.#attempt = null
  }

  #now(): number {
    return Math.round((performance.now() - this.#ex.startedAt) * 1000)
  }

  #add(step: StoryStep): void {
    this.#bytes += Buffer.byteLength(JSON.stringify(step))
    if (this.#bytes > STEPS_BYTES_MAX) this.#left++
    else this.#steps.push(step)
  }
}

const shown = (text: string | undefined): string | null => (text === undefined ? null : shownText(text))

function modelOf(use: ModelUse): Story['llm'] {
  return {
    provider: use.provider ?? null,
    operation: use.operation ?? null,
    requestModel: shown(use.requestModel),
    responseModel: shown(use.responseModel),
    inputTokens: use.inputTokens ?? null,
    outputTokens: use.outputTokens ?? null,
    totalTokens: use.totalTokens ?? null,
    cost: costText(totalCost(use)) ?? null,
    costBasis: totalBasis(use) ?? null,
    costUnknown: shown(use.costUnknown),
    cache: use.cache ?? null
  }
}

function callOf({ method, target, item, errorCode }: McpUse): Story['mcp'] {
  return {
    method: shown(method),
    target: item?.target ?? target ?? null,
    item: item === null ? null : `${item.kind} ${shownText(item.name)}`,
    errorCode: errorCode ?? null
  }
}
