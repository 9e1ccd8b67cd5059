/** One exchange that a service is told of, and that does not wait for it (observabilityMode). */
import type { Exchange } from '#engine/contract/exchange.ts'
import { type EndListener, listenForEnd } from '#engine/contract/exchange-signal.ts'
import { Conversation } from './conversation.ts'
import { attributesOf, headersOf, messageOf, protocolOf } from './message.ts'
import type { Plan } from './processing.ts'
import { REQUEST, RESPONSE, type Side } from './side.ts'

/** How long the service may take to end a stream that is complete: Envoy's deferred_close_timeout. */
const CLOSE_MS = 5_000

export class Observation implements EndListener {
  readonly #ex: Exchange
  readonly #plan: Plan
  #conversation: Conversation | null = null

  constructor(ex: Exchange, plan: Plan) {
    this.#ex = ex
    this.#plan = plan
  }

  request(): void {
    this.#tell(REQUEST)
  }

  response(): void {
    this.#tell(RESPONSE)
  }

  #tell(side: Side): void {
    const { conversation: options, modes, attributes, metadataOf, failed } = this.#plan
    if (!modes[side.name].sendsHeaders) return
    const isFirst = this.#conversation === null
    if (isFirst) {
      // Not the call of the exchange: what is on its way when that is over still arrives.
      this.#conversation = new Conversation(options, null)
      listenForEnd(this.#ex, this)
    }
    this.#conversation!.tell(
      messageOf(headersOf(this.#ex, side), {
        metadata: metadataOf(this.#ex),
        attributes: attributesOf(this.#ex, attributes[side.name], failed),
        protocol: isFirst ? protocolOf(modes) : undefined,
        isObserved: true
      })
    )
  }

  exchangeOver(): void {
    const conversation = this.#conversation!
    conversation.finish()
    this.#plan.conversation.time.after(CLOSE_MS, () => conversation.cancel())
  }
}
