/** One exchange that a service is told of, and that does not wait for it (observabilityMode). */
import type { BodyOutput, BodyProcessor } from '#engine/contract/body-processor.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type EndListener, listenForEnd } from '#engine/contract/exchange-signal.ts'
import { Conversation } from './conversation.ts'
import { Envelopes } from './envelopes.ts'
import { bodyOf, headersOf, type Part, trailersOf } from './message.ts'
import type { Plan } from './plan.ts'
import type { SideMode } from './schema.ts'
import { REQUEST, RESPONSE, type Side } from './side.ts'

/** How long the service may take to end a stream that is complete: Envoy's deferred_close_timeout. */
const CLOSE_MS = 5_000
/** Nothing waits for the service: one that is so far behind is told no more of an exchange. */
const UNSENT_BYTES_MAX = 1024 * 1024
const NO_BYTES = Buffer.alloc(0)

export class Observation implements EndListener {
  readonly #ex: Exchange
  readonly #plan: Plan
  #conversation: Conversation | null = null
  readonly #envelopes: Envelopes
  /** Of bodies, since the service has no room. */
  #unsentBytes = 0

  constructor(ex: Exchange, plan: Plan) {
    this.#ex = ex
    this.#plan = plan
    this.#envelopes = new Envelopes(ex, plan, true)
  }

  request(): void {
    this.#observe(REQUEST)
  }

  response(): void {
    this.#observe(RESPONSE)
  }

  #observe(side: Side): void {
    const { modes, bodies } = this.#plan
    const { sendsHeaders, body, sendsTrailers } = modes[side.name]
    if (sendsHeaders) this.part(side, headersOf(this.#ex, side))
    if ((body === 'NONE' && !sendsTrailers) || !side.hasBody(this.#ex)) return
    const reply = side.reply(this.#ex)
    if (reply === null) bodies[side.name](this.#ex, (output) => new ObservedBody(this, side, modes[side.name], output))
    else if (body !== 'NONE') this.part(side, bodyOf(side, reply, true))
  }

  part(side: Side, part: Part): void {
    const { conversation: options, modes } = this.#plan
    if (this.#conversation === null) {
      // Not the call of the exchange: what is on its way when that is over still arrives.
      this.#conversation = new Conversation(options, null)
      listenForEnd(this.#ex, this)
    }
    const conversation = this.#conversation
    const { length } = 'body' in part.value ? part.value.body : NO_BYTES
    this.#unsentBytes = conversation.hasRoom ? 0 : this.#unsentBytes + length
    if (this.#unsentBytes > UNSENT_BYTES_MAX) conversation.cancel()
    else conversation.write(this.#envelopes.around(side, part, modes))
  }

  exchangeOver(): void {
    this.#conversation!.finish(CLOSE_MS)
  }
}

/** A body of which the service gets a copy. */
class ObservedBody implements BodyProcessor {
  readonly #observation: Observation
  readonly #side: Side
  readonly #mode: SideMode
  readonly #output: BodyOutput

  constructor(observation: Observation, side: Side, mode: SideMode, output: BodyOutput) {
    this.#observation = observation
    this.#side = side
    this.#mode = mode
    this.#output = output
  }

  write(chunk: Buffer, start: number, end: number): boolean {
    if (this.#mode.body !== 'NONE')
      this.#observation.part(this.#side, bodyOf(this.#side, Buffer.from(chunk.subarray(start, end)), false))
    return this.#output.send(chunk, start, end)
  }

  end(trailers: string): void {
    if (this.#mode.sendsTrailers && trailers !== '')
      this.#observation.part(this.#side, trailersOf(this.#side, trailers))
    else if (this.#mode.body !== 'NONE') this.#observation.part(this.#side, bodyOf(this.#side, NO_BYTES, true))
    this.#output.end(trailers)
  }

  resume(): void {
    this.#output.more()
  }
}
