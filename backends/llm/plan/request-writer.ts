/** What a provider is sent is written: here, or, of a large body, in another thread. */

import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import type { Called, Refused, Written } from '#backends/llm/offload/job.ts'
import { callFor, LargeRequest, requestFor } from '#backends/llm/offload/large-body.ts'
import type { Dialect } from '#backends/llm/providers/dialects.ts'
import { bodyFor, type ChatRequest, type Order, sendChat, writeChat } from '#backends/llm/request/request.ts'
import { LargeCall, sendCall } from '#backends/llm/routes/call.ts'
import type { Operation, Sent } from '#backends/llm/routes/operation.ts'
import { type Dropped, droppedOf, NONE_DROPPED } from '#backends/llm/translate/dropped-fields.ts'
import { begin, beginOperation } from '#backends/llm/usage/usage-record.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { offloadFor } from '#engine/contract/client-key.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { bufferOf } from '#engine/kit/shared-bytes.ts'
import type { Attempts } from './attempts.ts'
import type { Choice } from './provider-runtime.ts'
import { draft, type Recipe } from './request-plan.ts'

/** The fields that the provider is not told; or why it cannot be asked at all. */
export type Outcome = Dropped | FormatError

/** Makes ex the request that another thread has written. Throws FormatError: it is none, whoever is asked. */
export type Take = (ex: Exchange) => Outcome

/** What a provider is to be sent instead. */
export type Made = { readonly bytes: Buffer; readonly lost: Dropped } | FormatError

export class Writing {
  readonly #context: BackendContext

  constructor(context: BackendContext) {
    this.#context = context
  }

  /** Makes ex the request for `choice`, at once or with what the promise gives; that rejects when too much waits. */
  write(ex: Exchange, state: Attempts, choice: Choice): Outcome | Promise<Take> {
    const { chat, operation } = state
    if (chat instanceof LargeRequest) return this.#chatElsewhere(ex, state, chat, choice)
    if (operation instanceof LargeCall) return this.#callElsewhere(ex, state, operation, choice)
    try {
      if (chat !== null) return this.#chat(ex, state, chat, choice)
      return operation === null ? NONE_DROPPED : asked(ex, state, operation, choice, operation.write(ex, choice))
    } catch (error) {
      if (error instanceof FormatError) return error
      throw error
    }
  }

  #chat(ex: Exchange, state: Attempts, chat: ChatRequest, choice: Choice): Outcome {
    const { sent, order } = draft(chat, choice)
    this.#begin(ex, state, sent, choice, order)
    const { fields, kinds } = writeChat(ex, sent, order)
    return droppedOf(fields, kinds)
  }

  #begin(
    ex: Exchange,
    state: Attempts,
    sent: ChatRequest,
    { provider }: Choice,
    { format, model }: Pick<Order, 'format' | 'model'>
  ): void {
    state.sent = sent
    state.format = format
    begin(ex, sent, provider.name, model, this.#context.keepsAnswers === true)
  }

  /** A chat that has been sent already, in another dialect. Rejects when too much waits. */
  again(ex: Exchange, { chat }: Attempts, choice: Choice, dialect: Dialect): Made | Promise<Made> {
    const spoken = { dialect }
    if (chat instanceof LargeRequest) return this.#againElsewhere(ex, chat, { ...choice.recipe, spoken })
    const { sent, order } = draft(chat!, { ...choice, spoken })
    const losses = new Losses()
    const body = bodyFor(sent, order, losses)
    const bytes = body === null ? chat!.bytes : Buffer.from(JSON.stringify(body))
    return { bytes, lost: droppedOf(losses.fields, losses.kinds) }
  }

  async #againElsewhere(ex: Exchange, chat: LargeRequest, recipe: Recipe): Promise<Made> {
    const { client, bytes, path, query } = chat
    const made = await requestFor(offloadFor(ex, this.#context.offload), bytes, { client, path, query, recipe })
    if (made.kind === 'refused') return new FormatError(made.field, made.message)
    return { bytes: made.bytes === null ? bytes : bufferOf(made.bytes), lost: made.lost }
  }

  async #chatElsewhere(asked: Exchange, state: Attempts, chat: LargeRequest, choice: Choice): Promise<Take> {
    const { client, bytes, path, query } = chat
    const offload = offloadFor(asked, this.#context.offload)
    const made = await requestFor(offload, bytes, { client, path, query, recipe: choice.recipe })
    return (ex) => this.#takeChat(ex, state, chat, choice, made)
  }

  #takeChat(ex: Exchange, state: Attempts, chat: LargeRequest, choice: Choice, made: Written | Refused): Outcome {
    const { given, provider, spoken } = choice
    const { facts } = made
    if (facts !== null) this.#begin(ex, state, new LargeRequest(chat, facts, given.edits), choice, facts.order)
    if (made.kind === 'refused') return refusal(made)
    const order = { ...given, ...made.facts.order, provider, caching: given.edits.caching, dialect: spoken.dialect }
    sendChat(ex, state.sent!, order, made.bytes === null ? null : bufferOf(made.bytes))
    return made.lost
  }

  async #callElsewhere(asked: Exchange, state: Attempts, operation: LargeCall, choice: Choice): Promise<Take> {
    const { type, bytes, path, query } = operation.call
    const offload = offloadFor(asked, this.#context.offload)
    const made = await callFor(offload, bytes, { type, path, query, recipe: choice.recipe })
    return (ex) => takeCall(ex, state, operation, choice, made)
  }
}

function takeCall(
  ex: Exchange,
  state: Attempts,
  operation: LargeCall,
  choice: Choice,
  made: Called | Refused
): Outcome {
  if (made.kind === 'refused') return refusal(made)
  sendCall(ex, operation.call, choice.provider, made.printed)
  return asked(ex, state, operation, choice, made.printed)
}

function asked(ex: Exchange, state: Attempts, operation: Operation, { provider }: Choice, sent: Sent): Outcome {
  state.call = sent
  beginOperation(ex, operation, provider.name, sent)
  return sent.lost
}

/** Throws it where it is the request that cannot be read. */
function refusal({ field, message, isUnreadable }: Refused): FormatError {
  const why = new FormatError(field, message)
  if (isUnreadable) throw why
  return why
}
