/** What a provider is sent is written: here, or, of a large body, in another thread. */

import type { FormatName } from '#backends/llm/conversation.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import type { RefusedRequest, WrittenOperation, WrittenRequest } from '#backends/llm/offload/job.ts'
import { LargeRequest, type RequestFacts } from '#backends/llm/offload/large-request.ts'
import { readStoredInPool, writeOperationInPool, writeRequestInPool } from '#backends/llm/offload/pool.ts'
import type { Dialect } from '#backends/llm/providers/dialect/dialect.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import { isForm } from '#backends/llm/request/multipart.ts'
import { applyChat, providerBody, type RequestPlan, writeChat } from '#backends/llm/request/provider-request.ts'
import { applyOperation } from '#backends/llm/routes/body-operation.ts'
import { LargeOperation } from '#backends/llm/routes/large-operation.ts'
import type { LaterWriting, Operation, SentOperation } from '#backends/llm/routes/operation.ts'
import type { StoredTask } from '#backends/llm/stored/jobs.ts'
import { sealFor } from '#backends/llm/stored/stores.ts'
import { type DroppedFields, droppedOf, NONE_DROPPED, withMore } from '#backends/llm/translate/dropped-fields.ts'
import { settingsOf } from '#backends/llm/usage/request-settings.ts'
import { beginOperationRecord, beginUsageRecord } from '#backends/llm/usage/usage-record.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { offloadFor } from '#engine/contract/client-key.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { hold } from '#engine/contract/held-bytes.ts'
import { TRACE } from '#engine/contract/tracing.ts'
import { bufferOf } from '#engine/kit/shared-bytes.ts'
import type { Attempts } from './attempts.ts'
import type { ProviderRuntime } from './provider-runtime.ts'
import { type ProviderSpec, planRequest } from './request-plan.ts'

/** The fields that the provider does not get; or why the request cannot be written for it at all. */
export type WriteOutcome = DroppedFields | FormatError

/** Makes ex the request that another thread has written. Throws FormatError: no provider can be asked. */
export type ApplyWritten = (ex: Exchange) => WriteOutcome

/** What a provider is to be sent instead. */
export type RewrittenBody = { readonly bytes: Buffer; readonly lost: DroppedFields } | FormatError

/** Formats whose answers name what the provider keeps. */
const KEEPING: ReadonlySet<FormatName> = new Set<FormatName>(['responses', 'messages'])

export class RequestWriter {
  readonly #context: BackendContext

  constructor(context: BackendContext) {
    this.#context = context
  }

  /** Makes ex the request for `choice`, at once or with what the promise gives; that rejects when too much waits. */
  write(ex: Exchange, state: Attempts, choice: ProviderRuntime): WriteOutcome | Promise<ApplyWritten> {
    const { chat, operation } = state
    if (chat instanceof LargeRequest) return this.#chatElsewhere(ex, state, chat, choice)
    if (operation instanceof LargeOperation) return this.#callElsewhere(ex, state, operation, choice)
    try {
      if (chat !== null) return this.#chat(ex, state, chat, choice)
      if (operation === null) return NONE_DROPPED
      const { later = null } = operation
      if (later === null) return operationOutcome(ex, state, operation, choice, operation.write(ex, choice))
      return this.#keptElsewhere(ex, state, { operation, later, task: later.task(ex, choice) }, choice)
    } catch (error) {
      if (error instanceof FormatError) return error
      throw error
    }
  }

  async #keptElsewhere(
    ex: Exchange,
    state: Attempts,
    call: { readonly operation: Operation; readonly later: LaterWriting; readonly task: StoredTask },
    choice: ProviderRuntime
  ): Promise<ApplyWritten> {
    const { operation, later, task } = call
    const made = await readStoredInPool(offloadFor(ex, this.#context.offload), ex.requestBytes!, task)
    if (made.kind === 'refused') return () => new FormatError(made.field, made.message)
    return (now) => operationOutcome(now, state, operation, choice, later.apply(now, choice, made.written!))
  }

  #chat(ex: Exchange, state: Attempts, chat: ChatRequest, choice: ProviderRuntime): WriteOutcome {
    const { request, plan } = planRequest(chat, choice)
    const settings = isTraced(ex) ? settingsOf(request.client, request.body) : undefined
    this.#begin(ex, state, request, choice, { ...plan, settings })
    const { fields, kinds } = writeChat(ex, request, plan)
    return droppedOf(fields, kinds)
  }

  #begin(
    ex: Exchange,
    state: Attempts,
    sent: ChatRequest,
    { provider, prices, account }: ProviderRuntime,
    { format, model, settings }: Pick<RequestPlan, 'format' | 'model'> & Pick<RequestFacts, 'settings'>
  ): void {
    state.editedChat = sent
    state.format = format
    const { access } = state.kept
    if (access !== null && KEEPING.has(format) && format === sent.client) sent.seal = sealFor(account.store, access)
    const names = { provider: provider.name, requested: state.chat!.model, model }
    beginUsageRecord(ex, sent, names, this.#context.keepsAnswers === true, settings, prices)
  }

  /** A chat that has been sent already, in another dialect. Rejects when too much waits. */
  rewrite(
    ex: Exchange,
    { chat }: Attempts,
    choice: ProviderRuntime,
    dialect: Dialect
  ): RewrittenBody | Promise<RewrittenBody> {
    const learned = { dialect }
    if (chat instanceof LargeRequest) return this.#againElsewhere(ex, chat, { ...choice.spec, learned })
    const { request, plan } = planRequest(chat!, { ...choice, learned })
    const losses = new Losses()
    const body = providerBody(request, plan, losses)
    const bytes = body === null ? chat!.bytes : Buffer.from(JSON.stringify(body))
    return { bytes, lost: droppedOf(losses.fields, losses.kinds) }
  }

  async #againElsewhere(ex: Exchange, chat: LargeRequest, spec: ProviderSpec): Promise<RewrittenBody> {
    const { client, bytes, path, query } = chat
    const made = await writeRequestInPool(offloadFor(ex, this.#context.offload), bytes, {
      client,
      path,
      query,
      spec,
      isTraced: false
    })
    if (made.kind === 'refused') return new FormatError(made.field, made.message)
    return { bytes: made.bytes === null ? bytes : bufferOf(made.bytes), lost: made.lost }
  }

  async #chatElsewhere(
    ex: Exchange,
    state: Attempts,
    chat: LargeRequest,
    choice: ProviderRuntime
  ): Promise<ApplyWritten> {
    const { client, bytes, path, query } = chat
    const offload = offloadFor(ex, this.#context.offload)
    const made = await writeRequestInPool(offload, bytes, {
      client,
      path,
      query,
      spec: choice.spec,
      isTraced: isTraced(ex)
    })
    return (ex) => this.#takeChat(ex, state, chat, choice, made)
  }

  #takeChat(
    ex: Exchange,
    state: Attempts,
    chat: LargeRequest,
    choice: ProviderRuntime,
    made: WrittenRequest | RefusedRequest
  ): WriteOutcome {
    const { settings, provider, learned } = choice
    const { facts } = made
    if (facts !== null)
      this.#begin(ex, state, new LargeRequest(chat, facts, settings.edits), choice, {
        ...facts.plan,
        settings: facts.settings
      })
    if (made.kind === 'refused') return refusal(made)
    const plan = {
      ...settings,
      ...made.facts.plan,
      provider,
      caching: settings.edits.caching,
      dialect: learned.dialect
    }
    const left = applyChat(ex, state.editedChat!, plan, made.bytes === null ? null : bufferOf(made.bytes))
    return left.length === 0 ? made.lost : withMore(made.lost, left)
  }

  async #callElsewhere(
    ex: Exchange,
    state: Attempts,
    operation: LargeOperation,
    choice: ProviderRuntime
  ): Promise<ApplyWritten> {
    const { bytes, ...source } = operation.source
    const offload = offloadFor(ex, this.#context.offload)
    if (isForm(source.contentType)) holdCopy(ex, bytes)
    const made = await writeOperationInPool(offload, bytes, { ...source, spec: choice.spec })
    return (ex) => takeCall(ex, state, operation, choice, made)
  }
}

/** The form is copied once, to name the provider's model; the client's is kept for the next one. Throws: no room. */
function holdCopy(ex: Exchange, { length }: Buffer): void {
  const more = 2 * length - (ex.held?.bytes ?? 0)
  if (more > 0 && !hold(ex, more)) throw new Error('there is no room for a copy of the form')
}

const isTraced = (ex: Exchange): boolean => TRACE.get(ex) !== null

function takeCall(
  ex: Exchange,
  state: Attempts,
  operation: LargeOperation,
  choice: ProviderRuntime,
  made: WrittenOperation | RefusedRequest
): WriteOutcome {
  if (made.kind === 'refused') return refusal(made)
  applyOperation(ex, operation.source, choice.provider, made.printed)
  return operationOutcome(ex, state, operation, choice, made.printed)
}

function operationOutcome(
  ex: Exchange,
  state: Attempts,
  operation: Operation,
  { provider, prices }: ProviderRuntime,
  sent: SentOperation
): WriteOutcome {
  state.sentOperation = sent
  beginOperationRecord(ex, operation, provider.name, sent, prices)
  return sent.lost
}

/** Throws it where it is the request that cannot be read. */
function refusal({ field, message, isUnreadable }: RefusedRequest): FormatError {
  const why = new FormatError(field, message)
  if (isUnreadable) throw why
  return why
}
