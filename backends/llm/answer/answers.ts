/** A provider's answer on its way to the client: whole, streamed, or an error; as it is, or in the client's format. */

import type { FormatName } from '#backends/llm/conversation.ts'
import { isClientFormat } from '#backends/llm/formats/index.ts'
import type { Guards } from '#backends/llm/guards/guards.ts'
import { writeRejection } from '#backends/llm/guards/rejection.ts'
import { LARGE_BYTES } from '#backends/llm/offload/threshold.ts'
import type { Provider } from '#backends/llm/providers/provider.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import type { AnswerSpec } from '#backends/llm/routes/answer-spec.ts'
import type { FinishAnswer, Operation, SentOperation } from '#backends/llm/routes/operation.ts'
import type { StoredAnswerSpec } from '#backends/llm/stored/answer.ts'
import { streamStored } from '#backends/llm/stored/seal-tap.ts'
import { asEvents, asStream, clientTap, streamType } from '#backends/llm/stream/client-tap.ts'
import { type Broken, ContinuingTap } from '#backends/llm/stream/continuing-tap.ts'
import type { CostTap } from '#backends/llm/stream/cost-tap.ts'
import { type Framing, framingFor, framingOf, sseFraming } from '#backends/llm/stream/framing.ts'
import { LINE_END } from '#backends/llm/stream/list-tap.ts'
import { replay } from '#backends/llm/stream/replay.ts'
import { KEEPALIVE, type Silence, SilenceTap, watchCollected } from '#backends/llm/stream/silence.ts'
import { settleUsage } from '#backends/llm/usage/usage-record.ts'
import { whenSettled } from '#backends/shared/when-settled.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { replaceResponseBody, whenResponse } from '#engine/contract/body.ts'
import { collectResponsePrefix } from '#engine/contract/body-prefix.ts'
import { offloadFor } from '#engine/contract/client-key.ts'
import { BODY_STREAM, type Exchange, STEP_RECORDED } from '#engine/contract/exchange.ts'
import { whenOver } from '#engine/contract/exchange-signal.ts'
import { type AnswerHook, CONTINUE, type Verdict } from '#engine/contract/filter.ts'
import { letGo } from '#engine/contract/held-bytes.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { SseReader } from '#engine/http/sse.ts'
import {
  deliverOperation,
  deliverOperationFromPool,
  deliverOperationHere,
  failOverlong,
  failUnreadable,
  TRANSLATED_BYTES_MAX
} from './deliver.ts'
import { finishAnswer } from './finish.ts'
import { isRedirect, REDIRECTS, unreadable } from './masked-errors.ts'
import { type ErrorWords, wordsOf } from './vendor-errors.ts'
import { convert, convertInPool, countInPool, readCost } from './whole-answer.ts'

export type Proceed = Parameters<AnswerHook>[1]
type HookResult = ReturnType<AnswerHook>

/** What is to happen to one answer. */
export interface Translation {
  readonly chat: ChatRequest
  /** What the provider speaks. */
  readonly format: FormatName
  readonly proceed: Proceed
  readonly by: { readonly provider: Pick<Provider, 'hasOwnErrors'> }
  /** What the client sent; null: those of the exchange will do. */
  readonly fields: HeaderBlock | null
  /** Called with the tap of an answer that comes as events. */
  readonly streamed: (tap: CostTap) => void
  /** Has another provider go on with a stream that has broken; null: nobody does. */
  readonly goOn: ((broken: Broken) => boolean) | null
}

export class Answers {
  readonly #context: BackendContext
  readonly #guards: Guards
  readonly #silence: Silence

  constructor(context: BackendContext, guards: Guards, silence: Silence) {
    this.#context = context
    this.#guards = guards
    this.#silence = silence
  }

  translate(ex: Exchange, translation: Translation): ReturnType<AnswerHook> {
    const { chat, format, proceed, streamed } = translation
    const response = ex.response!
    const isNative = format === chat.client
    // Between the provider and this gateway, as the client's are between the client and the gateway.
    response.remove('set-cookie')
    // Also of an error, which may say again what was asked or answered.
    const isGuarded = this.#guards.guardsAnswers
    // A client that speaks the provider's format can decode codings itself: the answer passes, and is not counted.
    if (isCoded(ex) && isNative && ex.status < 300 && !isGuarded) return CONTINUE
    const why = unreadable(ex, isCoded(ex) && (isGuarded || !isNative))
    const framing = ex.status < 300 ? framingOf(response.get('content-type') ?? '') : null
    if (why === null && framing !== null && !(isGuarded && this.#guards.needsWhole)) {
      streamed(this.#stream(ex, translation, framing, isGuarded))
      return CONTINUE
    }
    if (why === null && isGuarded) return this.#guarded(ex, translation, framing)
    if (why === null && passesError(ex, translation)) return CONTINUE
    const later = why !== null ? null : () => convertInPool(ex, chat, format, this.#context)
    return this.#whole(ex, proceed, () => convert(ex, chat, format, why), later)
  }

  /** For answers that are not read. */
  pass({ response }: Exchange): ReturnType<AnswerHook> {
    response?.remove('set-cookie')
    return CONTINUE
  }

  /** Of what is no chat: `sent` is what the provider was asked. */
  translateOperation(
    ex: Exchange,
    operation: Operation,
    sent: SentOperation,
    by: Pick<Translation, 'proceed' | 'fields' | 'streamed'>
  ): HookResult {
    ex.response?.remove('set-cookie')
    operation.headAnswered?.(ex)
    const isError = ex.status >= 400 && this.#guards.guardsAnswers
    return isError ? this.#guardedError(ex, operation, sent, by.fields) : this.#operationAnswer(ex, operation, sent, by)
  }

  #operationAnswer(
    ex: Exchange,
    operation: Operation,
    sent: SentOperation,
    { proceed, streamed }: Pick<Translation, 'proceed' | 'streamed'>
  ): HookResult {
    const { client, listen, streamTap, finish } = operation
    const { isNative, answerSpec } = sent
    const passes = ex.status === 101 || (ex.status < 300 && isNative)
    if (passes && listen !== undefined) {
      // The head of a short one says what it has cost.
      if (answerSpec !== null && isShort(ex)) return this.#read(ex, operation, sent, proceed)
      if (answerSpec !== null && ex.responseBody === BODY_STREAM) return this.#passing(ex, operation, sent, proceed)
      ex.tap = listen(ex, sent)
      return CONTINUE
    }
    const tap = ex.status < 300 && !isNative && !isCoded(ex) ? (streamTap?.(ex, sent) ?? null) : null
    if (tap !== null) {
      ex.tap = tap
      streamed(tap)
      asEvents(ex)
      return CONTINUE
    }
    // A list of models that the client has already is as good in any format.
    if (ex.status === 304) return CONTINUE
    if (isRedirect(ex.status)) return this.#whole(ex, proceed, () => failUnreadable(ex, client, REDIRECTS), null)
    if (answerSpec === null || (ex.status >= 300 && isNative)) return CONTINUE
    if (answerSpec.of === 'Stored' && framingOf(ex.response!.get('content-type') ?? '') !== null) {
      streamStored(ex, answerSpec as StoredAnswerSpec)
      return CONTINUE
    }
    if (finish !== undefined && ex.status < 300) return this.#finished(ex, operation, finish, answerSpec, sent)
    return this.#read(ex, operation, sent, proceed)
  }

  /** The beginning of an answer of unknown length is kept: it may be all of it. */
  async #passing(ex: Exchange, operation: Operation, sent: SentOperation, proceed: Proceed): Promise<Verdict> {
    await collectResponsePrefix(LARGE_BYTES, this.#context.fail)(ex)
    if (ex.localReply !== null || ex.responseDone) return CONTINUE
    const pieces = ex.heldResponse ?? []
    // Nobody has to make do with this beginning.
    ex.responsePrefix = null
    letGo(
      ex,
      pieces.reduce((sum, { length }) => sum + length, 0)
    )
    if (ex.heldTrailers !== null) return (await this.#read(ex, operation, sent, proceed)) as Verdict
    const tap = operation.listen!(ex, sent)
    // It changes nothing.
    for (const piece of pieces) tap.body(ex, piece, 0, piece.length)
    ex.tap = tap
    return CONTINUE
  }

  /** As a whole. */
  #read(ex: Exchange, { client }: Operation, sent: SentOperation, proceed: Proceed): HookResult {
    const { providerFormat, isNative } = sent
    const answerSpec = sent.answerSpec!
    const common = { client, providerFormat, isNative, answerSpec, ...wordsFor(ex), ...tokensInHead(ex) }
    const answer = (bytes: Buffer) => ({ bytes, status: ex.status, ...common })
    const here = () => {
      if (ex.responseBytes !== null) deliverOperationHere(ex, answer(ex.responseBytes))
    }
    const later = () => deliverOperationFromPool(ex, answer(ex.responseBytes!), this.#context)
    // What is kept of lists has a bound of its own: pages are short.
    return this.#whole(ex, proceed, here, later, answerSpec.of === 'Stored' ? null : client)
  }

  async #finished(
    ex: Exchange,
    operation: Operation,
    finish: FinishAnswer,
    answerSpec: AnswerSpec,
    { providerFormat, isNative }: SentOperation
  ): Promise<Verdict> {
    const isDone = await finishAnswer(ex, operation, finish, this.#context)
    const { status, responseBytes: bytes } = ex
    if (isDone || bytes === null) return CONTINUE
    const { client } = operation
    await deliverOperation(ex, { bytes, status, client, providerFormat, isNative, answerSpec }, this.#context)
    return CONTINUE
  }

  /**
   * `later`: does the same with a large body, without holding this thread; null: nothing can. `long`: the client of an
   * operation whose answers may be longer than bodies are that others keep; null: none.
   */
  #whole(
    ex: Exchange,
    proceed: Proceed,
    translate: () => void,
    later: (() => Promise<void>) | null,
    long: FormatName | null = null
  ): HookResult {
    const { maxBufferBytes: usual } = this.#context
    const maxBufferBytes = long === null ? usual : Math.max(usual, TRANSLATED_BYTES_MAX)
    const fail = long === null ? this.#context.fail : failOverlong(long, maxBufferBytes, this.#context)
    const isLarge = () => later !== null && (ex.responseBytes?.length ?? 0) > LARGE_BYTES
    const verdict = whenResponse(ex, maxBufferBytes, fail, (isOver) => {
      if (isLarge()) {
        const done = later!()
        // A timeout may have answered meanwhile, or the client may have gone.
        if (!isOver)
          whenSettled(
            done,
            () => ex.localReply === null && !ex.responseDone,
            () => proceed(ex)
          )
        return
      }
      translate()
      if (!isOver) proceed(ex)
    })
    if (verdict !== CONTINUE) return verdict
    if (isLarge()) return later!().then(() => CONTINUE)
    translate()
    return CONTINUE
  }

  #stream(ex: Exchange, { chat, format, goOn }: Translation, framing: Framing, isGuarded: boolean): CostTap {
    const { fail } = this.#context
    // What others than its own server go on with has to come in a framing that is written here.
    const isContinued = goOn !== null && isClientFormat(format) && framing instanceof SseReader
    const offload = offloadFor(ex, this.#context.offload)
    // What is noted down is what the client gets.
    const inner = isGuarded || isContinued ? sseFraming : framingFor(ex)
    const noted = clientTap(chat, format, inner, () => fail(ex, 'UPSTREAM_PROTOCOL'), offload)
    const seen = isGuarded ? this.#guards.tap(format, noted, framing) : noted
    const whole = isContinued ? new ContinuingTap(seen, { format, fail, next: (_, broken) => goOn(broken) }) : seen
    // A list has no comments, and google-genai (PyPI) takes one in events for a broken answer.
    const comment = chat.client === 'gemini' ? LINE_END : KEEPALIVE
    const tap = new SilenceTap(whole, ex, { silence: this.#silence, comment, fail })
    ex.tap = tap
    asStream(ex, chat, format)
    return tap
  }

  /** An error says again what was asked. */
  async #guardedError(
    ex: Exchange,
    operation: Operation,
    sent: SentOperation,
    fields: HeaderBlock | null
  ): Promise<Verdict> {
    const { maxBufferBytes, fail } = this.#context
    const why = unreadable(ex, isCoded(ex))
    await new Promise<void>((resolve) => {
      if (whenResponse(ex, maxBufferBytes, fail, () => resolve()) === CONTINUE) resolve()
    })
    const refused = why === null ? await this.#guards.answer(ex, sent.providerFormat, null, fields ?? ex.request) : null
    if (ex.localReply !== null || ex.responseDone) return CONTINUE
    if (why !== null) failUnreadable(ex, operation.client, why)
    else if (refused !== null) writeRejection(ex, operation.client, refused)
    else if (!sent.isNative && sent.answerSpec !== null && ex.responseBytes !== null) {
      const { status, responseBytes: bytes } = ex
      const { providerFormat, isNative, answerSpec } = sent
      const common = { client: operation.client, providerFormat, isNative, answerSpec }
      const answer = { bytes, status, ...common, ...wordsFor(ex) }
      await deliverOperation(ex, answer, this.#context)
    }
    return CONTINUE
  }

  /** The answer is kept until the guards have seen all of it. */
  async #guarded(ex: Exchange, translation: Translation, framing: Framing | null): Promise<Verdict> {
    const { chat, format, fields } = translation
    const { maxBufferBytes, fail } = this.#context
    const contentType = framing === null ? null : (ex.response!.get('content-type') ?? '')
    const collected = await new Promise<CollectedAnswer>((resolve) => {
      const here = (isOver: boolean): void => {
        const bytes = ex.responseBytes ?? Buffer.alloc(0)
        const readers = framingFor(ex)
        // It has been paid for whatever becomes of it.
        const count = () => {
          if (ex.status >= 300) return
          if (framing !== null) this.#countStream(ex, translation, bytes, readers)
          else if (bytes.length > LARGE_BYTES) void countInPool(ex, chat, format, bytes, this.#context)
          else readCost(ex, format, bytes)
        }
        if (isOver) count()
        resolve({ bytes, count, decided: isOver ? () => {} : whenOver(ex, count) })
      }
      if (whenResponse(ex, maxBufferBytes, fail, here) === CONTINUE) here(false)
      else if (framing !== null) watchCollected(ex, this.#silence, fail)
    })
    const refused = await this.#guards.answer(ex, format, contentType, fields ?? ex.request)
    // A timeout may have answered meanwhile, or the client may have gone.
    if (ex.localReply !== null || ex.responseDone) return CONTINUE
    collected.decided()
    if (refused !== null) {
      collected.count()
      writeRejection(ex, chat.client, refused)
    } else if (framing !== null) {
      const passing = translateCollected(ex, translation, ex.responseBytes ?? collected.bytes, sseFraming)
      const bytes = Buffer.isBuffer(passing) ? passing : await passing
      if (ex.localReply !== null || ex.responseDone) return CONTINUE
      replaceResponseBody(ex, bytes)
      ex.response!.set('Content-Type', streamType(chat))
    } else if (passesError(ex, translation)) return CONTINUE
    else if ((ex.responseBytes?.length ?? 0) > LARGE_BYTES) await convertInPool(ex, chat, format, this.#context)
    else convert(ex, chat, format, null)
    return CONTINUE
  }

  /** The cost of a stream that the client does not get. */
  #countStream(ex: Exchange, translation: Translation, buffered: Buffer, framing: () => Framing): void {
    const passing = translateCollected(ex, translation, buffered, framing)
    if (Buffer.isBuffer(passing)) return
    passing.catch(() => this.#context.log('error', 'what an answer has cost that was kept could not be read'))
  }
}

const isShort = ({ responseBody, responseLength }: Exchange): boolean =>
  responseBody !== BODY_STREAM && responseLength <= LARGE_BYTES

/** Of errors. */
function wordsFor(ex: Exchange): { readonly words?: ErrorWords } {
  const words = ex.status < 300 ? null : wordsOf(ex)
  return words === null ? {} : { words }
}

/** Bedrock says what InvokeModel has read in the header alone. */
function tokensInHead({ response }: Exchange): { readonly inputTokens?: number } {
  const tokens = Number(response?.get('x-amzn-bedrock-input-token-count') ?? Number.NaN)
  return Number.isSafeInteger(tokens) && tokens >= 0 ? { inputTokens: tokens } : {}
}

/** It has errors of its own, whatever format its models speak (API reference of Bedrock, "Common Error Types"). */
const isOfAws = ({ response }: Exchange): boolean => response?.get('x-amzn-requestid') !== undefined

/** A client of the provider's format can read it. */
const passesError = (ex: Exchange, { chat, format, by }: Translation): boolean =>
  ex.status >= 300 && format === chat.client && by.provider.hasOwnErrors !== true && !isOfAws(ex)

/** An answer that guards judge. */
interface CollectedAnswer {
  readonly bytes: Buffer
  readonly count: () => void
  /** From here on it is counted with what the client gets. */
  readonly decided: () => void
}

/**
 * A stream that has been kept, as the client gets it. Reports its tap when it is done, or settles its cost if the
 * exchange is over by then.
 */
function translateCollected(
  ex: Exchange,
  { chat, format, streamed }: Translation,
  buffered: Buffer,
  framing: () => Framing
) {
  const tap = clientTap(chat, format, framing, () => {}, null)
  const passing = replay(ex, tap, buffered)
  if (Buffer.isBuffer(passing)) {
    streamed(tap)
    return passing
  }
  return passing.then((bytes) => {
    if (ex.step === STEP_RECORDED) settleUsage(ex, tap.cost)
    else streamed(tap)
    return bytes
  })
}

function isCoded({ response }: Exchange): boolean {
  return (response?.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity'
}
