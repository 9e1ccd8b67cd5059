/** The prompt guards of one backend: what they do to a request, to an answer, and to a stream. */

import type { AiGuard, AiGuards, AiRegexGuard, AiRejection, AiRouteType } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat, FormatName } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { modelOf, parseBody } from '#backends/llm/request/json-body.ts'
import { decodedName, modelPathOf } from '#backends/llm/request/model-path.ts'
import type { CostTap } from '#backends/llm/stream/cost-tap.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { replaceRequestBody, replaceResponseBody } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { noteRefusedModel } from '#engine/contract/model-use.ts'
import type { HttpService } from '#engine/contract/service.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { Reach } from '#engine/kit/scan/body.ts'
import { inTurn } from '#engine/socket/round.ts'
import { guardBody, INLINE_BYTES_MAX, runIn } from './guard-body.ts'
import { type Framing, GuardTap } from './guard-tap.ts'
import { reachOf } from './guarded-fields.ts'
import type { Shape } from './job.ts'
import { noteActed, noteRejection } from './reject-detail.ts'
import { type GuardServices, withAbortSignal } from './service-call.ts'
import { StreamGuard, StreamGuards } from './stream-guard.ts'

/** What may stand before a list. */
const LEAD_BYTES = 64

/** Only where `llm` leads there: in an `ai` backend it is a mistake of the configuration. */
export const NOT_GUARDABLE = 'the prompt guards of this model cannot see what passes here'

export class Guards {
  readonly #guards: AiGuards
  readonly #context: BackendContext
  readonly #services: GuardServices

  /** Throws a FieldError for a guard that names no server. */
  constructor(guards: AiGuards, context: BackendContext) {
    this.#guards = guards
    this.#context = context
    this.#services = servicesOf(guards, context)
  }

  /** What a request of `type` has for guards: null: nothing, or there are none; 'unknown': it must not pass. */
  guardedFieldsOf(type: AiRouteType, client: ClientFormat | null, ex: Exchange): Reach | 'unknown' | null {
    const { request, response } = this.#guards
    if (request.length === 0 && response.length === 0) return null
    const reach = client === null ? 'unknown' : reachOf(type, client, response.length > 0)
    if (reach === 'unknown') return type === 'Stored' && this.#passesStored(ex) ? null : reach
    return reach === 'nothing' || request.length === 0 ? null : reach
  }

  /** Whether a call about what a provider keeps has nothing in it that guards would look at. */
  #passesStored({ method, requestBytes }: Exchange): boolean {
    return method === 'DELETE' || (!this.guardsAnswers && (requestBytes === null || requestBytes.length === 0))
  }

  #asks(fields: HeaderBlock) {
    return { fields, services: this.#services }
  }

  get guardsAnswers(): boolean {
    return this.#guards.response.length > 0
  }

  /** A service judges whole answers: streams are kept until it has. */
  get needsWhole(): boolean {
    return this.#guards.response.some(({ kind }) => kind !== 'regex')
  }

  /** A service that judges answers gets some of the client's fields. */
  get forwardsFields(): boolean {
    return this.#guards.response.some((guard) => guard.kind === 'webhook' && guard.forward.length > 0)
  }

  /** Calls `then` when the body may go on, masked where it has to be; null, or why it may not. */
  request(ex: Exchange, reach: Reach, then: (refused: AiRejection | null) => void): void {
    const shape = { kind: 'json', reach, role: 'user' } as const
    const body = { bytes: ex.requestBytes ?? Buffer.alloc(0), shape, side: 'request' } as const
    const run = runIn(this.#context, ex)
    const judged = withAbortSignal(ex, this.#asks(ex.request), (call) =>
      guardBody(this.#guards.request, body, run, call)
    )
    // A turn of its own: timers begin at its start, and the last one may be long over.
    const unlessOver = (step: () => void): void => {
      if (!isOver(ex)) inTurn(step)
    }
    judged.then(
      (outcome) =>
        unlessOver(() => {
          if (outcome.kind === 'over') return
          if (outcome.kind === 'pass') {
            noteActed(ex, 'request', outcome.acted)
            if (outcome.isChanged) replaceRequestBody(ex, outcome.bytes)
          }
          if (outcome.kind === 'reject') {
            noteRejection(ex, 'request', this.#guards, outcome)
            noteRefusedModel(ex, namedModel(ex))
          }
          then(outcome.kind === 'reject' ? outcome.reply : null)
        }),
      // The next reader says what is wrong with a body that is no JSON.
      (error: unknown) => unlessOver(() => then(error instanceof SyntaxError ? null : refusalOf(error, 400)))
    )
  }

  /**
   * The whole answer in ex.responseBytes, masked where it has to be. Null, or why the client does not get it.
   * `contentType`: of a stream that has been kept, which is server-sent events afterwards; null: it is none. `fields`:
   * of the client.
   */
  async answer(
    ex: Exchange,
    format: FormatName,
    contentType: string | null,
    fields: HeaderBlock
  ): Promise<AiRejection | null> {
    const bytes = ex.responseBytes
    if (bytes === null) return null
    const shape = ex.status < 300 ? shapeOf(bytes, format, contentType) : ({ kind: 'text' } as const)
    const body = { bytes, shape, side: 'response' } as const
    const run = runIn(this.#context, ex)
    try {
      const outcome = await withAbortSignal(ex, this.#asks(fields), (call) =>
        guardBody(this.#guards.response, body, run, call)
      )
      if (isOver(ex) || outcome.kind === 'over') return null
      if (outcome.kind === 'reject') {
        noteRejection(ex, 'response', this.#guards, outcome)
        return outcome.reply
      }
      noteActed(ex, 'response', outcome.acted)
      if (outcome.isChanged) replaceResponseBody(ex, outcome.bytes)
      return null
    } catch (error) {
      return refusalOf(error, 502)
    }
  }

  /** The tap of a stream whose guards need no service. */
  tap(format: FormatName, inner: CostTap, framing: Framing): CostTap {
    const some = this.#guards.response.filter((guard): guard is AiRegexGuard => guard.kind === 'regex')
    const guards = new StreamGuards(some.map((guard) => new StreamGuard(format, guard)))
    const places = some.map((guard) => this.#guards.response.indexOf(guard))
    const masked = (ex: Exchange) =>
      noteActed(
        ex,
        'response',
        guards.maskedBy.map((i) => ({ guard: places[i]!, action: 'mask' }))
      )
    return new GuardTap({ framing, inner, guards, fail: this.#context.fail, masked })
  }
}

/** By the client's name; empty: it names none, or stands in a body that is too long to be parsed here. */
function namedModel({ path, requestBytes: bytes }: Exchange): string {
  try {
    const inPath = modelPathOf(path)
    if (inPath !== null) return decodedName(inPath.name)
    return bytes === null || bytes.length > INLINE_BYTES_MAX ? '' : modelOf(parseBody(bytes))
  } catch {
    // A body that cannot be read names no model.
    return ''
  }
}

function servicesOf(guards: AiGuards, { services }: BackendContext): GuardServices {
  const found: [AiGuard, HttpService][] = []
  for (const side of ['request', 'response'] as const) {
    guards[side].forEach((guard, i) => {
      if (guard.kind === 'regex' || typeof guard.server === 'string') return
      const { server } = guard
      const ref = 'at' in server ? { ...server, at: ['promptGuard', side, i, ...server.at] } : server
      found.push([guard, services.http(ref)])
    })
  }
  return new Map(found)
}

/** Another answer has taken the place of the provider's, or none is wanted. */
function isOver(ex: Exchange): boolean {
  return ex.localReply !== null || ex.responseDone
}

/** Of an answer. */
function shapeOf(bytes: Buffer, format: FormatName, contentType: string | null): Shape {
  if (contentType !== null) return { kind: 'events', format, contentType }
  const isList = bytes.subarray(0, LEAD_BYTES).toString().trimStart().startsWith('[')
  return isList ? { kind: 'list', format } : { kind: 'json', reach: FORMATS[format].answerTexts, role: 'assistant' }
}

/** Content that cannot be searched does not pass. The message shows nothing of the body. */
function refusalOf(error: unknown, status: number): AiRejection {
  if (error instanceof RangeError) return { status, message: 'the body is nested too deeply' }
  if (error instanceof SyntaxError) return { status, message: 'the body is not valid JSON' }
  return { status: 503, message: 'the body cannot be looked through now' }
}
