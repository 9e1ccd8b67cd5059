/**
 * One exchange before its service: headers, body and trailers of one side after the other. What waits for the service
 * is an async function: each step is a round trip through the network, beside which a promise is nothing.
 */
import { type Exchange, STEP_REQUEST, STEP_RESPONSE } from '#engine/contract/exchange.ts'
import { CONTINUE, STOP, type Verdict } from '#engine/contract/filter.ts'
import { setRefusalStatus } from '#engine/contract/refuse.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import type { Metadata } from '#engine/proto/generated/envoy/config/core/v3/base.ts'
import type {
  BodyMutation,
  CommonResponse,
  HeaderMutation,
  ImmediateResponse,
  ProcessingResponse
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { Conversation, type ConversationOptions, type Failed, type Told } from './conversation.ts'
import {
  attributesOf,
  bodyOf,
  headersOf,
  messageOf,
  type NamedValues,
  type Part,
  protocolOf,
  trailersOf
} from './message.ts'
import { overridden } from './mode-override.ts'
import { applyChanges, changesOf, flatFields, type MutationRules } from './mutation.ts'
import type { ProcessingModes } from './schema.ts'
import { REQUEST, RESPONSE, type Side } from './side.ts'

export interface Plan {
  readonly conversation: ConversationOptions
  readonly modes: ProcessingModes
  readonly allowModeOverride: boolean
  readonly statusOnError: number | 'own' | null
  readonly rules: MutationRules
  readonly attributes: { readonly request: NamedValues; readonly response: NamedValues }
  readonly metadataOf: (ex: Exchange) => Metadata | undefined
  readonly bodyBytesMax: number
  readonly failed: () => void
}

/** What a step leads to; null: the next one. */
type Outcome = Verdict | null

export class Processing {
  readonly #ex: Exchange
  readonly #plan: Plan
  #modes: ProcessingModes
  #conversation: Conversation | null = null
  #metadata: Metadata | undefined = undefined
  /** The exchange goes on without the service. */
  #isOver = false
  /** The side that waits. */
  #side: Side | null = null
  /** The side that the service was told of last. */
  #told: Side | null = null
  /** The service has given the body of this side: nothing more of it is told. */
  #hasReplaced = false

  constructor(ex: Exchange, plan: Plan) {
    this.#ex = ex
    this.#plan = plan
    this.#modes = plan.modes
  }

  request(): Verdict | Promise<Verdict> {
    return this.#begin(REQUEST)
  }

  response(): Verdict | Promise<Verdict> {
    // Something else has answered while the service was asked.
    if (this.#side !== null) this.#stop()
    return this.#begin(RESPONSE)
  }

  #begin(side: Side): Verdict | Promise<Verdict> {
    const mode = this.#modes[side.name]
    if (this.#isOver) return CONTINUE
    if (mode.sendsHeaders || mode.body !== 'NONE') return this.#process(side)
    if (side === RESPONSE) this.#conversation?.finish()
    return CONTINUE
  }

  async #process(side: Side): Promise<Verdict> {
    this.#side = side
    this.#hasReplaced = false
    let outcome = await this.#headers(side)
    if (outcome === null && !this.#hasReplaced) outcome = await this.#body(side)
    if (outcome === null && !this.#hasReplaced) outcome = await this.#trailers(side)
    if (this.#side === side) this.#side = null
    if (outcome === null && side === RESPONSE) this.#conversation?.finish()
    return outcome ?? CONTINUE
  }

  // --- steps ---

  async #headers(side: Side): Promise<Outcome> {
    if (!this.#modes[side.name].sendsHeaders) return null
    const told = await this.#ask(side, headersOf(this.#ex, side))
    return this.#take(told, side, side.headersCase, async (response) => {
      if (this.#plan.allowModeOverride && response.modeOverride !== undefined) {
        const modes = overridden(this.#modes, response.modeOverride)
        if (modes === null) return this.#fail(side, 'it asks for a mode that is not in this version of weir')
        this.#modes = modes
      }
      const common = commonOf(response)
      const problem = this.#change(side, common?.headerMutation)
      if (problem !== null) return this.#fail(side, problem)
      return common?.status === 1 ? this.#replaceWhole(side, common) : null
    })
  }

  /** CONTINUE_AND_REPLACE: whatever the body was, it is this. */
  async #replaceWhole(side: Side, { bodyMutation }: CommonResponse): Promise<Outcome> {
    const ended = await this.#collect(side, true)
    if (ended !== null) return ended
    const bytes = replacementOf(bodyMutation)
    if (bytes === 'streamed') return this.#fail(side, STREAMED)
    side.replace(this.#ex, bytes ?? Buffer.alloc(0))
    this.#hasReplaced = true
    return null
  }

  async #body(side: Side): Promise<Outcome> {
    const { body } = this.#modes[side.name]
    if (body === 'NONE' || !side.hasBody(this.#ex)) return null
    const ended = await this.#collect(side, body === 'BUFFERED')
    if (ended !== null) return ended
    const { bytes, isWhole } = side.bytes(this.#ex)
    const isEnd = isWhole && (!this.#modes[side.name].sendsTrailers || side.trailers(this.#ex) === '')
    const told = await this.#ask(side, bodyOf(side, bytes, isEnd))
    return this.#take(told, side, side.bodyCase, async (response) => {
      const common = commonOf(response)
      const replacement = replacementOf(common?.bodyMutation)
      if (replacement === 'streamed') return this.#fail(side, STREAMED)
      const problem = this.#change(side, common?.headerMutation)
      if (problem !== null) return this.#fail(side, problem)
      if (replacement !== null) {
        if (isWhole) side.replace(this.#ex, replacement)
        else side.replacePrefix(this.#ex, replacement)
      }
      return null
    })
  }

  async #trailers(side: Side): Promise<Outcome> {
    const mode = this.#modes[side.name]
    const lines = side.trailers(this.#ex)
    if (!mode.sendsTrailers || mode.body !== 'BUFFERED' || lines === '') return null
    const told = await this.#ask(side, trailersOf(side, lines))
    return this.#take(told, side, side.trailersCase, async ({ response }) => {
      const isTrailers = response?.$case === 'requestTrailers' || response?.$case === 'responseTrailers'
      const changes = changesOf(isTrailers ? response.value.headerMutation : undefined, this.#plan.rules, NO_PSEUDO)
      if (typeof changes === 'string') return this.#fail(side, changes)
      const block = new HeaderBlock()
      for (const line of lines.split('\r\n')) {
        const at = line.indexOf(':')
        if (at > 0) block.receive(line.slice(0, at), line.slice(at + 1).trim())
      }
      applyChanges(this.#ex, block, changes, NO_PSEUDO)
      side.setTrailers(this.#ex, block.lines())
      return null
    })
  }

  async #collect(side: Side, isWhole: boolean): Promise<Outcome> {
    const { bodyBytesMax } = this.#plan
    const collected = isWhole ? side.collect(this.#ex, bodyBytesMax) : side.collectPrefix(this.#ex, bodyBytesMax)
    const fault = await collected
    if (fault === null) return this.#isStale(side) ? STOP : null
    const isStale = this.#isStale(side)
    this.#stop()
    return fault === 'answered' || isStale ? STOP : side.end(this.#ex, { code: fault, reply: null })
  }

  // --- asking ---

  #ask(side: Side, part: Part): Promise<Told> {
    if (this.#isOver) return Promise.resolve(null)
    const plan = this.#plan
    const isFirst = this.#conversation === null
    if (isFirst) {
      this.#conversation = new Conversation(plan.conversation, this.#ex)
      this.#metadata = plan.metadataOf(this.#ex)
    }
    const isFirstOfSide = this.#told !== side
    this.#told = side
    const message = messageOf(part, {
      metadata: this.#metadata,
      attributes: isFirstOfSide ? attributesOf(this.#ex, plan.attributes[side.name], plan.failed) : {},
      protocol: isFirst ? protocolOf(this.#modes) : undefined,
      isObserved: false
    })
    return new Promise((resolve) => this.#conversation!.ask(message, resolve))
  }

  async #take(
    told: Told,
    side: Side,
    expected: NonNullable<ProcessingResponse['response']>['$case'],
    apply: (response: ProcessingResponse) => Promise<Outcome>
  ): Promise<Outcome> {
    if (this.#isStale(side)) return STOP
    if (told === null) {
      this.#isOver = true
      return CONTINUE
    }
    if ('kind' in told) return this.#failed(side, told)
    const { response } = told
    if (response?.$case === 'immediateResponse') return this.#answer(side, response.value)
    if (response?.$case !== expected) return this.#fail(side, 'it answers another question than it was asked')
    return apply(told)
  }

  /** The exchange has got an answer otherwise, or its client has left. */
  #isStale(side: Side): boolean {
    return this.#side !== side || this.#ex.step !== (side === REQUEST ? STEP_REQUEST : STEP_RESPONSE)
  }

  #change(side: Side, mutation: HeaderMutation | undefined): string | null {
    const changes = changesOf(mutation, this.#plan.rules, side.pseudo)
    if (typeof changes === 'string') return changes
    applyChanges(this.#ex, side.block(this.#ex), changes, side.pseudo)
    return null
  }

  // --- ends ---

  #stop(): void {
    this.#isOver = true
    this.#side = null
    this.#conversation?.cancel()
  }

  #fail(side: Side, detail: string): Verdict {
    const name = this.#plan.conversation.client.name
    return this.#failed(side, { kind: 'failed', isLate: false, detail: `${name}: ${detail}` })
  }

  #failed(side: Side, { isLate, detail }: Failed): Verdict {
    const { statusOnError } = this.#plan
    this.#stop()
    if (statusOnError === null) return CONTINUE
    this.#ex.errorDetail = detail
    const code = isLate ? 'EXT_PROC_TIMEOUT' : 'EXT_PROC_UNAVAILABLE'
    if (statusOnError !== 'own') setRefusalStatus(this.#ex, code, statusOnError)
    return side.end(this.#ex, { code, reply: null })
  }

  #answer(side: Side, { status, headers, body, grpcStatus }: ImmediateResponse): Verdict {
    const changes = changesOf(headers, this.#plan.rules, NO_PSEUDO)
    if (typeof changes === 'string') return this.#fail(side, changes)
    this.#stop()
    const fields = flatFields(changes)
    const at = fields.indexOf('content-type')
    const contentType = at >= 0 && at % 2 === 0 ? fields[at + 1]! : null
    const others = fields.filter((_, i) => fields[i - (i % 2)] !== 'content-type')
    const code: number = status?.code ?? 0
    return side.end(this.#ex, {
      code: null,
      reply: {
        // As Envoy: what is no status of an answer is 200.
        status: code >= 200 && code <= 599 ? code : 200,
        body: body.length === 0 ? null : body,
        contentType,
        headers: others,
        grpcStatus: grpcStatus?.status
      }
    })
  }
}

const NO_PSEUDO = new Map<string, never>()
const STREAMED = 'it streams a body that was sent whole'

function commonOf({ response }: ProcessingResponse): CommonResponse | undefined {
  switch (response?.$case) {
    case 'requestHeaders':
    case 'responseHeaders':
    case 'requestBody':
    case 'responseBody':
      return response.value.response
    default:
      return undefined
  }
}

/** Null: the body stays. */
function replacementOf(given: BodyMutation | undefined): Buffer | 'streamed' | null {
  const mutation = given?.mutation
  if (mutation === undefined) return null
  if (mutation.$case === 'streamedResponse') return 'streamed'
  if (mutation.$case === 'body') return mutation.value
  return mutation.value ? Buffer.alloc(0) : null
}
