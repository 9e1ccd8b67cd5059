/** What an exchange with models remembers from one provider to the next. */

import { isFailure } from '#backends/llm/answer/masked-errors.ts'
import type { ClientKeys } from '#backends/llm/auth/authenticator.ts'
import type { LikeQuestion } from '#backends/llm/cache/semantic/value.ts'
import type { Flight } from '#backends/llm/cache/store.ts'
import type { ErrorClass } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat, FormatName } from '#backends/llm/conversation.ts'
import type { FormatError } from '#backends/llm/formats/format.ts'
import type { Dialect } from '#backends/llm/providers/dialect/dialect.ts'
import { type ChatRequest, releaseContent } from '#backends/llm/request/chat-request.ts'
import type { LargeOperation } from '#backends/llm/routes/large-operation.ts'
import type { ActiveOperation, Operation, SentOperation } from '#backends/llm/routes/operation.ts'
import type { KeptIds } from '#backends/llm/stored/stores.ts'
import type { CostTap } from '#backends/llm/stream/cost-tap.ts'
import { type DroppedFields, NONE_DROPPED } from '#backends/llm/translate/dropped-fields.ts'
import type { CompiledBackend } from '#engine/contract/backend.ts'
import type { CallExplanation } from '#engine/contract/call-explanation.ts'
import { ERRORS } from '#engine/contract/errors.ts'
import type { BackendState, Exchange, RetryState } from '#engine/contract/exchange.ts'
import type { CacheStatus } from '#engine/contract/model-use.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { Attempt, ProviderSlot } from './balancer.ts'
import { classOfStatus } from './error-class.ts'
import type { OriginalRequest } from './original-request.ts'
import type { ProviderRuntime } from './provider-runtime.ts'
import type { Choose } from './ranking.ts'

const NONE: readonly never[] = []

/** What is asked: at most one of them; neither passes through. */
export interface ServedRequest {
  readonly chat: ChatRequest | null
  readonly operation: ActiveOperation | LargeOperation | null
  /** Of a chat. */
  readonly kept: KeptIds
}

/** Whose answer others may get. */
interface KeptFlight {
  readonly key: string
  readonly status: CacheStatus
  readonly flight: Flight
  /** Null: it is not compared by its meaning. */
  readonly like: LikeQuestion | null
}

/** One exchange, while it is tried at one provider after the other. */
export class Attempts implements BackendState {
  readonly by: CompiledBackend
  /** Format of the client; null: none that is known. */
  readonly client: ClientFormat | null
  /** As it came; null: it is no chat. */
  readonly chat: ChatRequest | null
  /** Null: it is a chat, or passes through. */
  operation: ActiveOperation | LargeOperation | null
  /** What of it the provider that is tried has been sent. */
  sentOperation: SentOperation | null = null
  /** The chat as the provider that is tried gets it, ahead of translation. */
  editedChat: ChatRequest | null = null
  /** What that provider speaks, once it has been sent. */
  format: FormatName | null = null
  readonly tried: ProviderSlot<ProviderRuntime>[] = []
  /** How many have been asked. */
  attemptCount = 0
  /** Null: it will not be tried again. */
  original: OriginalRequest | null
  /** Where it is being tried. */
  attempt: Attempt<ProviderRuntime> | null = null
  /** What may follow, as long as it has not been answered; null: nothing. */
  retry: RetryState | null = null
  tap: CostTap | null = null
  /** Fields that the provider has not got. */
  dropped: DroppedFields = NONE_DROPPED
  /** What the provider that is tried has refused of what was added here, and is asked without now; null: nothing. */
  dialectOverrides: Partial<Dialect> | null = null
  /** Its answer was an error, and the status did not say so. */
  hadMaskedError = false
  /** How often another provider has gone on with its stream. */
  continuations = 0
  /** What its providers have asked money for is booked. */
  isSettled = false
  /** Rises with every attempt: what was begun for an earlier one is not wanted any more. */
  round = 0
  /** Of the attempt under way: the providers that may be tried, and why one was skipped. */
  groups: readonly (readonly ProviderSlot<ProviderRuntime>[])[] = []
  refusal: FormatError | null = null
  /** Why the last provider has not served it, where that decides who is next. */
  failure: ErrorClass | null = null
  /** What led from the last provider to the next one; null: none has failed. */
  failedBy: ErrorClass | null = null
  /** A copy of it goes to the shadow. */
  hasShadow = false
  /** Providers that were drawn, and for which it cannot be written. */
  passedOver: readonly ProviderSlot<ProviderRuntime>[] = NONE
  /** The list of a kind of error that is gone through; null: the providers of the model. */
  home: Attempts['groups'] | null = null
  /** Others wait for its answer, or will get it; null: it is not to be kept. */
  flight: KeptFlight | null = null
  /** Among equal providers; undefined: by latency and load. */
  choose: Choose | undefined = undefined
  /** What the client came with: an attempt leaves other keys in the request. */
  readonly keys: ClientKeys
  /** Where what the request names is kept, and what ids in its answer are marked for. */
  readonly kept: KeptIds
  /** The client's fields, where a guard of answers gets them. */
  fields: HeaderBlock | null = null

  constructor(
    by: CompiledBackend,
    client: ClientFormat | null,
    request: ServedRequest,
    original: OriginalRequest | null,
    keys: ClientKeys
  ) {
    this.by = by
    this.client = client
    this.chat = request.chat
    this.operation = request.operation
    const { kept = request.kept }: Partial<Operation> = request.operation ?? {}
    this.kept = kept
    this.original = original
    this.keys = keys
  }

  /** The last provider has answered, and what it accepts cannot be written: the attempt does not count. */
  withdraw(nowMs: number): void {
    this.attempt?.succeeded(nowMs)
    this.attempt = null
    this.round++
    this.attemptCount--
  }

  /** The request cannot be written for `slot`. */
  passOver(slot: ProviderSlot<ProviderRuntime>, why: FormatError): void {
    this.refusal ??= why
    this.passedOver = [...this.passedOver, slot]
  }

  /** Another attempt follows. What this one still waits for may not send it: the next may come after a pause. */
  leave({ response, status }: Exchange): void {
    this.failedBy = this.failure ?? (response === null ? 'server_error' : classOfStatus(status))
    this.round++
    this.attempt = null
  }

  /** How soon the provider that has answered began to. */
  measure({ llm }: Exchange): void {
    if (llm?.firstTokenAt !== undefined) this.attempt?.begun(llm.firstTokenAt)
  }

  explain(ex: Exchange): CallExplanation | null {
    return this.by.explain?.(ex) ?? null
  }

  release(): void {
    if (this.chat !== null) releaseContent(this.chat)
    if (this.editedChat !== null) releaseContent(this.editedChat)
    this.original = null
    this.operation = null
    this.sentOperation = null
  }
}

/** The exchange is over: what that says of the provider that was tried last. */
export function endLastAttempt(ex: Exchange, { attempt, tap, hadMaskedError }: Attempts, random: () => number): void {
  if (attempt === null) return
  // Also when the time for the request was over before it answered.
  const isFault = ex.error !== null && ERRORS[ex.error].source !== 'downstream'
  if (isFault) attempt.failed(performance.now(), null, random())
  else attempt.abandon()
  if (tap?.cost.hasBroken || (hadMaskedError && isFailure(ex.status))) attempt.broke(performance.now(), random())
}
