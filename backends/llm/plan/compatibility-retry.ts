/**
 * A server that refuses a request for a member that was added to it here is asked once more without that; when it takes
 * the request then, that is remembered for as long as the process lives (ProviderRuntime.learned).
 */

import { isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { LARGE_BYTES } from '#backends/llm/offload/threshold.ts'
import type { Dialect } from '#backends/llm/providers/dialect/dialect.ts'
import { type AddedField, addedFields, refusedFields } from '#backends/llm/providers/dialects.ts'
import type { DroppedFields } from '#backends/llm/translate/dropped-fields.ts'
import { whenSettled } from '#backends/shared/when-settled.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { replaceRequestBody, whenResponse } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type AnswerHook, CONTINUE, LATER } from '#engine/contract/filter.ts'
import { resend } from '#engine/contract/resend.ts'
import type { Attempts } from './attempts.ts'
import { QUOTED } from './error-class.ts'
import type { ProviderRuntime } from './provider-runtime.ts'
import type { RequestWriter, RewrittenBody } from './request-writer.ts'

type HookResult = ReturnType<AnswerHook>

/** Bytes of a refusal that is looked into. */
const REFUSAL_MAX = 64 * 1024

/** Whether an answer with `status` may say that a member of the request is not taken. */
export const mayRefuse = (status: number): boolean => status === 400 || status === 422 || status === QUOTED

interface Steps {
  /** Why the provider cannot be asked without what is lost then; null: it can. */
  readonly lost: (lost: DroppedFields) => FormatError | null
  /** Asks it with what is in the exchange; or not, for the reason. */
  readonly ask: (why: FormatError | null) => void
  /** Does with the answer what is usual. */
  readonly usual: () => HookResult
  readonly proceed: (ex: Exchange) => void
}

export class CompatibilityRetry {
  readonly #context: BackendContext
  readonly #writing: RequestWriter

  constructor(context: BackendContext, writing: RequestWriter) {
    this.#context = context
    this.#writing = writing
  }

  /** Null: there is nothing in the answer to `state` that another request would change. */
  refused(ex: Exchange, state: Attempts, choice: ProviderRuntime, steps: Steps): HookResult | null {
    if (state.format !== 'completions' || state.editedChat === null) return null
    if (state.dialectOverrides !== null && ex.status < 400) {
      choice.learned.dialect = { ...choice.learned.dialect, ...state.dialectOverrides }
      return null
    }
    const added = mayRefuse(ex.status) && ex.responseLength <= REFUSAL_MAX ? addedTo(state, choice) : []
    if (added.length === 0) return null
    const { maxBufferBytes, fail } = this.#context
    const look = (): HookResult => this.#look(ex, state, choice, { added, steps })
    const verdict = whenResponse(ex, maxBufferBytes, fail, (isOver) => {
      if (!isOver) goOn(ex, look(), steps.proceed)
    })
    return verdict === CONTINUE ? look() : verdict
  }

  #look(
    ex: Exchange,
    state: Attempts,
    choice: ProviderRuntime,
    { added, steps }: { added: readonly AddedField[]; steps: Steps }
  ): HookResult {
    const refused = refusedFields(ex.responseBytes?.toString() ?? '', added)
    if (refused.length === 0) return steps.usual()
    const lesson: Partial<Dialect> = Object.assign({}, state.dialectOverrides, ...refused.map(({ change }) => change))
    const made = this.#writing.rewrite(ex, state, choice, { ...choice.learned.dialect, ...lesson })
    if (!(made instanceof Promise)) return this.#send(ex, state, { lesson, made, steps })
    const { round } = state
    const isCurrent = () => state.round === round && ex.localReply === null && !ex.responseDone
    whenSettled(made, isCurrent, (late) => {
      // Too much waits for the pool: the client gets the refusal.
      goOn(ex, late === null ? steps.usual() : this.#send(ex, state, { lesson, made: late, steps }), steps.proceed)
    })
    return LATER
  }

  #send(
    ex: Exchange,
    state: Attempts,
    next: { lesson: Partial<Dialect>; made: RewrittenBody; steps: Steps }
  ): HookResult {
    const { lesson, made, steps } = next
    if (made instanceof FormatError || !resend(ex, state.retry)) return steps.usual()
    const why = steps.lost(made.lost)
    if (why === null) {
      state.dialectOverrides = lesson
      replaceRequestBody(ex, made.bytes)
    }
    steps.ask(why)
    return LATER
  }
}

/** What `state` was sent beside its client's own, and has not been given up yet. */
function addedTo({ editedChat, dialectOverrides }: Attempts, { learned }: ProviderRuntime): AddedField[] {
  const chat = editedChat!
  const isNative = chat.client === 'completions'
  const isSmall = chat.bytes.length <= LARGE_BYTES
  // Where the client has options of its own, the server may mean those.
  const usage = isNative && isSmall && isObject(chat.body.stream_options) ? ['include_usage'] : USAGE
  const usageFields = chat.isStreamed && !(isNative && chat.wantsUsage) ? usage : []
  const added = addedFields({ ...learned.dialect, ...dialectOverrides }, { isNative, usage: usageFields })
  return added.filter(({ change }) => Object.keys(change).every((key) => !Object.hasOwn(dialectOverrides ?? {}, key)))
}

const USAGE = ['stream_options', 'include_usage'] as const

function goOn(ex: Exchange, verdict: HookResult, proceed: Steps['proceed']): void {
  if (verdict === CONTINUE) proceed(ex)
  else if (verdict instanceof Promise) {
    const isCurrent = () => ex.localReply === null && !ex.responseDone
    whenSettled(verdict, isCurrent, () => proceed(ex))
  }
}
