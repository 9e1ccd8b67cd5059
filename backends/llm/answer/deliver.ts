/** How a client gets what has been made of an answer, here or in another thread. */

import type { FormatName } from '#backends/llm/conversation.ts'
import type { TranslatedAnswer } from '#backends/llm/offload/job.ts'
import { translateOperationInPool } from '#backends/llm/offload/pool.ts'
import { LARGE_BYTES } from '#backends/llm/offload/threshold.ts'
import { Attempts } from '#backends/llm/plan/attempts.ts'
import type { OperationCost } from '#backends/llm/routes/operation.ts'
import { type OperationAnswer, operationCost, translateOperationAnswer } from '#backends/llm/routes/operation-answer.ts'
import { DROPPED, type DroppedFields, droppedList } from '#backends/llm/translate/dropped-fields.ts'
import { settleUsage } from '#backends/llm/usage/usage-record.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { type Fail, replaceResponseBody } from '#engine/contract/body.ts'
import { offloadFor } from '#engine/contract/client-key.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { bufferOf } from '#engine/kit/shared-bytes.ts'
import { errorBody, refusalReply } from './local-replies.ts'

export function failUnreadable(ex: Exchange, client: FormatName, why: string): void {
  ex.status = 502
  ex.response!.remove('location')
  const message = `the provider's answer cannot be read: ${why}`
  const { body, headers } = errorBody(ex, client, { status: 502, message, code: null, param: null })
  ex.response!.set(...headers)
  writeBody(ex, body)
}

/**
 * An answer that is no chat is kept up to so many bytes to be translated: 1,000 vectors of 3,072 floats have 12 to 70
 * MB as JSON, depending on their digits. Those that are not translated pass, however long they are.
 */
export const TRANSLATED_BYTES_MAX = 64 * 1024 * 1024

/** As `fail` of the context, and says to `client` of an answer of more than `bytesMax` what can be done about it. */
export function failOverlong(client: FormatName, bytesMax: number, { fail, bodies }: BackendContext): Fail {
  return (ex, code) => {
    if (code !== 'RESPONSE_NOT_BUFFERED') {
      fail(ex, code)
      return
    }
    const message =
      `the provider's answer has more than ${bytesMax} bytes and cannot be translated: ask for less at once, or ` +
      'set frontendPolicies.http.maxBufferSize to more'
    ex.error = code
    const reply = refusalReply(ex, client, { status: 502, message, code: null, param: null })
    if (!bodies.reply(ex, reply)) fail(ex, code)
  }
}

/** Gives `ex` the answer that another thread makes. `count`: settles what it has cost, where none does. */
export async function deliverFromPool(
  ex: Exchange,
  client: FormatName,
  isNative: boolean,
  making: Promise<TranslatedAnswer>,
  count: () => void
): Promise<void> {
  const { status, response } = ex
  const made = await making.catch(() => null)
  if (made === null && status < 300) count()
  const isGone = ex.response !== response || ex.localReply !== null || ex.responseDone
  if (made !== null && isGone && made.cost !== null) settleUsage(ex, made.cost)
  else if (made !== null && !isGone) deliverTranslated(ex, client, made)
  else if (!isGone && !isNative) failUnreadable(ex, client, 'too much is waiting to be read')
}

/** Of what is no chat, wherever it is read. Never rejects. */
export async function deliverOperation(ex: Exchange, answer: OperationAnswer, context: BackendContext): Promise<void> {
  if (answer.bytes.length > LARGE_BYTES) await deliverOperationFromPool(ex, answer, context)
  else deliverOperationHere(ex, answer)
}

export function deliverOperationHere(ex: Exchange, answer: OperationAnswer): void {
  const { bytes, contentType, problem, status, ...cost } = translateOperationAnswer(answer)
  settleOperation(ex, cost)
  if (status !== undefined) setMaskedStatus(ex, status)
  if (problem !== null) failUnreadable(ex, answer.client, problem)
  else if (bytes !== null) writeBytes(ex, bytes, contentType)
}

function settleOperation(ex: Exchange, { usage, model, units }: OperationCost): void {
  if (usage !== null || model !== null || units !== undefined) settleUsage(ex, { usage, model, units })
}

/** As deliverOperationHere, in the offload pool. Never rejects. */
export function deliverOperationFromPool(
  ex: Exchange,
  answer: OperationAnswer,
  { offload }: BackendContext
): Promise<void> {
  return deliverFromPool(
    ex,
    answer.client,
    answer.isNative,
    translateOperationInPool(offloadFor(ex, offload), answer),
    () => settleOperation(ex, operationCost(answer))
  )
}

export function deliverTranslated(
  ex: Exchange,
  client: FormatName,
  { cost, problem, bytes, contentType, lost, status }: TranslatedAnswer
): void {
  if (cost !== null) settleUsage(ex, cost)
  if (status !== null) setMaskedStatus(ex, status)
  if (problem !== null) failUnreadable(ex, client, problem)
  else if (bytes !== null) {
    writeBytes(ex, bufferOf(bytes), contentType)
    reportDropped(ex, lost)
  }
}

/** The answer was an error by another status. */
export function setMaskedStatus(ex: Exchange, status: number): void {
  ex.status = status
  if (ex.serving instanceof Attempts) ex.serving.hadMaskedError = true
}

function reportDropped(ex: Exchange, dropped: DroppedFields): void {
  if (dropped.count === 0) return
  const before = ex.response!.get(DROPPED)
  const now = droppedList(dropped)
  ex.response!.set(DROPPED, before === undefined ? now : `${before}, ${now}`)
}

const writeBody = (ex: Exchange, body: object): void => writeBytes(ex, Buffer.from(JSON.stringify(body)))

function writeBytes(ex: Exchange, bytes: Buffer, contentType = 'application/json'): void {
  replaceResponseBody(ex, bytes)
  ex.response!.set('Content-Type', contentType)
}
