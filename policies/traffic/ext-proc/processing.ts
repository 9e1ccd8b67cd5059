/**
 * One exchange before its service: headers, body and trailers of one side after the other. What waits for the service
 * is an async function: each step is a round trip through the network, beside which a promise is nothing. Bodies that
 * are streamed, and trailers behind bodies that pass, wait for no hook (body-stream.ts).
 */
import type { BodyOutput } from '#engine/contract/body-processor.ts'
import { type Exchange, STEP_RECORDED, STEP_REQUEST, STEP_RESPONSE } from '#engine/contract/exchange.ts'
import { CONTINUE, STOP, type Verdict } from '#engine/contract/filter.ts'
import { setRefusalStatus } from '#engine/contract/refuse.ts'
import type {
  CommonResponse,
  HeaderMutation,
  ImmediateResponse,
  ProcessingResponse
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { BodyStream, type BodyStreamEvents, type BodyStreamOptions, replacementOf, STREAMED } from './body-stream.ts'
import { Conversation } from './conversation.ts'
import { keepMetadata } from './dynamic-metadata.ts'
import { Envelopes } from './envelopes.ts'
import { because, explained, replyOf } from './immediate.ts'
import type { Answer, Failed } from './lane.ts'
import { bodyOf, commonOf, headersOf, type Part, trailersOf } from './message.ts'
import { overridden } from './mode-override.ts'
import { applyChanges, changesOf } from './mutation.ts'
import type { Plan } from './plan.ts'
import { Progress } from './progress.ts'
import { ReplyOutput } from './reply-output.ts'
import type { BodyMode, ProcessingModes } from './schema.ts'
import { REQUEST, RESPONSE, type Side } from './side.ts'
import { type ReplyOwner, StreamedReply } from './streamed-reply.ts'
import { changedTrailers } from './trailers.ts'

/** What a step leads to; null: the next one. */
type Outcome = Verdict | null

export class Processing implements BodyStreamEvents, ReplyOwner {
  readonly #ex: Exchange
  readonly #plan: Plan
  readonly #envelopes: Envelopes
  #modes: ProcessingModes
  #conversation: Conversation | null = null
  /** The exchange goes on without the service. */
  #isOver = false
  /** The side whose hook waits. */
  #side: Side | null = null
  #replyOutput: ReplyOutput | null = null
  /** The service has not answered the request's head yet: it may make the reply itself. */
  #awaitsRequestHead = false
  readonly #progress = { request: new Progress(), response: new Progress() }

  constructor(ex: Exchange, plan: Plan) {
    this.#ex = ex
    this.#plan = plan
    this.#modes = plan.modes
    this.#envelopes = new Envelopes(ex, plan, false)
  }

  request(): Verdict | Promise<Verdict> {
    return this.#begin(REQUEST)
  }

  response(): Verdict | Promise<Verdict> {
    // Something else has answered while the service was asked.
    if (this.#side !== null) this.#stop()
    else if (this.#ex.localReply !== null) {
      // Nobody takes the rest of the request.
      this.#conversation?.request.close()
      this.#progress.request.stream?.drop()
      this.#progress.request.isOver = true
    }
    return this.#begin(RESPONSE)
  }

  #begin(side: Side): Verdict | Promise<Verdict> {
    const { sendsHeaders, body, sendsTrailers } = this.#modes[side.name]
    if (this.#isOver) return CONTINUE
    if (sendsHeaders || body !== 'NONE' || sendsTrailers) return this.#process(side)
    this.over(side)
    return CONTINUE
  }

  async #process(side: Side): Promise<Verdict> {
    this.#side = side
    const outcome = await this.#steps(side)
    if (this.#side === side) this.#side = null
    if (outcome === null && this.#progress[side.name].stream === null) this.over(side)
    return outcome ?? CONTINUE
  }

  // --- steps ---

  async #steps(side: Side): Promise<Outcome> {
    const hasBody = side.hasBody(this.#ex)
    if (hasBody && this.#modes[side.name].body === 'FULL_DUPLEX_STREAMED') return this.#duplex(side)
    const ended = await this.#headers(side, this.#askHeaders(side))
    if (ended !== null || this.#progress[side.name].isReplaced || !hasBody) return ended
    const { body, sendsTrailers } = this.#modes[side.name]
    if (body === 'STREAMED' || body === 'FULL_DUPLEX_STREAMED') return this.#streamed(side, body)
    const outcome = await this.#body(side)
    if (outcome !== null || !sendsTrailers) return outcome
    return body === 'BUFFERED' ? this.#trailers(side) : this.#streamed(side, 'NONE')
  }

  /** The service may want all of the body before it says what becomes of the headers. */
  async #duplex(side: Side): Promise<Outcome> {
    const lane = this.#talk()[side.name]
    // The reply of the gateway's own is there as a whole, and may be the one that says that the time is up.
    lane.isTimed = side.reply(this.#ex) !== null
    lane.isFree = true
    const headers = this.#askHeaders(side)
    const body = this.#streamed(side, 'FULL_DUPLEX_STREAMED', true)
    const outcome = await this.#headers(side, headers)
    this.#progress[side.name].stream?.release()
    return outcome ?? (await body)
  }

  #askHeaders(side: Side): Promise<Answer> | null {
    return this.#modes[side.name].sendsHeaders ? this.#ask(side, headersOf(this.#ex, side)) : null
  }

  async #headers(side: Side, pending: Promise<Answer> | null): Promise<Outcome> {
    if (pending === null) return null
    this.#awaitsRequestHead = side === REQUEST
    const answer = await pending
    this.#awaitsRequestHead = false
    return this.#take(answer, side, side.headersCase, async (response) => {
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
    const bytes = replacementOf(bodyMutation)
    if (bytes === 'streamed') return this.#fail(side, STREAMED)
    const progress = this.#progress[side.name]
    if (progress.stream !== null) progress.stream.replace(bytes ?? Buffer.alloc(0))
    else {
      const ended = await this.#collect(side, true)
      if (ended !== null) return ended
      side.replace(this.#ex, bytes ?? Buffer.alloc(0))
    }
    progress.isReplaced = true
    return null
  }

  async #body(side: Side): Promise<Outcome> {
    const { body, sendsTrailers } = this.#modes[side.name]
    if (body === 'NONE') return null
    const ended = await this.#collect(side, body === 'BUFFERED')
    if (ended !== null) return ended
    const { bytes, isWhole } = side.bytes(this.#ex)
    const isEnd = isWhole && (!sendsTrailers || side.trailers(this.#ex) === '')
    const answer = await this.#ask(side, bodyOf(side, bytes, isEnd))
    return this.#take(answer, side, side.bodyCase, async (response) => {
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
    const lines = side.trailers(this.#ex)
    if (lines === '') return null
    const answer = await this.#ask(side, trailersOf(side, lines))
    return this.#take(answer, side, side.trailersCase, async (response) => {
      const changed = this.trailers(side, response, lines)
      if (typeof changed === 'string') return this.#fail(side, changed)
      side.setTrailers(this.#ex, changed.lines)
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

  // --- bodies that pass while the exchange goes on ---

  async #streamed(side: Side, mode: BodyStreamOptions['mode'], isHeld = false): Promise<Outcome> {
    const ex = this.#ex
    const reply = side.reply(ex)
    if (reply === null) {
      if (mode !== 'NONE') side.stream(ex)
      this.#plan.bodies[side.name](ex, (output) => this.#stream(side, mode, isHeld, output))
      return null
    }
    // The gateway's own reply is there already, and is not on its way before all of it has come back.
    const output = new ReplyOutput(this.#plan.bodyBytesMax)
    this.#replyOutput = output
    const stream = this.#stream(side, mode, isHeld, output)
    stream.write(reply, 0, reply.length)
    stream.end('')
    const body = await output.whole
    if (this.#isStale(side)) return body === null ? CONTINUE : STOP
    if (typeof body === 'string') return this.#fail(side, body)
    if (body !== null) side.replace(ex, body)
    return null
  }

  #stream(side: Side, mode: BodyStreamOptions['mode'], isHeld: boolean, output: BodyOutput): BodyStream {
    const conversation = this.#talk()
    const stream = new BodyStream(
      {
        conversation,
        lane: conversation[side.name],
        side,
        mode,
        sendsTrailers: this.#modes[side.name].sendsTrailers,
        isHeld,
        unchangedPasses: this.#plan.unchangedPasses,
        passesOnError: this.#plan.statusOnError === null,
        events: this
      },
      output
    )
    this.#progress[side.name].stream = stream
    return stream
  }

  ask(side: Side, part: Part): void {
    const conversation = this.#talk()
    conversation.send(conversation[side.name], this.#envelopes.around(side, part, this.#modes))
  }

  answered(response: ProcessingResponse): string | null {
    return keepMetadata(this.#ex, response.dynamicMetadata)
  }

  trailers(_side: Side, response: ProcessingResponse, lines: string): { readonly lines: string } | string {
    return changedTrailers(this.#ex, response, lines, this.#plan.rules)
  }

  immediate(response: ImmediateResponse): void {
    const conversation = this.#talk()
    const reply = replyOf(response, this.#plan.rules)
    this.#stop(true)
    if (typeof reply === 'string') this.failed(conversation.failure(reply))
    else if (!this.#plan.bodies.reply(this.#ex, reply))
      this.failed(conversation.failure('it answers when the response has begun'))
  }

  /** In the middle of a body: what has gone out is not to look whole. */
  failed({ isLate, detail }: Failed): void {
    this.#stop()
    if (this.#replyOutput !== null && this.#plan.statusOnError === null) {
      this.#replyOutput.giveUp()
      return
    }
    // The end of the exchange is the end of its stream, and no failure.
    if (this.#ex.step === STEP_RECORDED) return
    this.#plan.bodies.fail(this.#ex, this.#blame(isLate, detail))
  }

  // --- a reply that the service makes itself ---

  beginsReply(): BodyMode | null {
    if (!this.#awaitsRequestHead || this.#isStale(REQUEST)) return null
    return this.#modes.request.body
  }

  replyBegins(): void {
    // The hook that waits comes too late, and the response is not sent to the service.
    this.#isOver = true
    this.#side = null
  }

  replyOver(): void {
    this.#progress.request.stream?.drop()
    this.#stop(true)
  }

  over(side: Side): void {
    this.#progress[side.name].isOver = true
    this.#conversation?.[side.name].settle()
    if (this.#progress.request.isOver && this.#progress.response.isOver) this.#conversation?.finish()
  }

  // --- asking ---

  #talk(): Conversation {
    if (this.#conversation === null) {
      const conversation = new Conversation(this.#plan.conversation, this.#ex)
      conversation.onRoom = () => {
        this.#progress.request.stream?.roomAgain()
        this.#progress.response.stream?.roomAgain()
      }
      conversation.reply = new StreamedReply(this.#ex, this.#plan, conversation, this)
      this.#conversation = conversation
    }
    return this.#conversation
  }

  #ask(side: Side, part: Part): Promise<Answer> {
    if (this.#isOver) return Promise.resolve(null)
    const conversation = this.#talk()
    return conversation.ask(conversation[side.name], this.#envelopes.around(side, part, this.#modes))
  }

  async #take(
    answer: Answer,
    side: Side,
    expected: NonNullable<ProcessingResponse['response']>['$case'],
    apply: (response: ProcessingResponse) => Promise<Outcome>
  ): Promise<Outcome> {
    if (this.#isStale(side)) return STOP
    if (answer === null) {
      this.#isOver = true
      return CONTINUE
    }
    if ('kind' in answer) return this.#failed(side, answer)
    const problem = this.answered(answer)
    if (problem !== null) return this.#fail(side, problem)
    const { response } = answer
    if (response?.$case === 'immediateResponse') return this.#answer(side, response.value)
    if (response?.$case !== expected) return this.#fail(side, 'it answers another question than it was asked')
    return apply(answer)
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

  /** `isGood`: the service has said how the exchange ends. */
  #stop(isGood = false): void {
    this.#isOver = true
    this.#side = null
    if (isGood) this.#conversation?.leave()
    else this.#conversation?.cancel()
  }

  #fail(side: Side, detail: string): Verdict {
    return this.#failed(side, this.#talk().failure(detail))
  }

  #failed(side: Side, failed: Failed): Verdict {
    this.#isOver = true
    this.#side = null
    // A body of the other side may still be with it.
    this.#conversation?.abandon(failed)
    if (this.#plan.statusOnError === null) return CONTINUE
    return side.end(this.#ex, { code: this.#blame(failed.isLate, failed.detail), reply: null })
  }

  #blame(isLate: boolean, detail: string): 'EXT_PROC_TIMEOUT' | 'EXT_PROC_UNAVAILABLE' {
    const { statusOnError } = this.#plan
    const code = isLate ? 'EXT_PROC_TIMEOUT' : 'EXT_PROC_UNAVAILABLE'
    this.#ex.errorDetail = because(detail)
    if (typeof statusOnError === 'number') setRefusalStatus(this.#ex, code, statusOnError)
    return code
  }

  #answer(side: Side, response: ImmediateResponse): Verdict {
    const reply = replyOf(response, this.#plan.rules)
    if (typeof reply === 'string') return this.#fail(side, reply)
    this.#stop(true)
    return side.end(this.#ex, { code: null, reply: explained(this.#ex, reply) })
  }
}
