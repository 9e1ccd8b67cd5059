/** An answer that came whole: translated for the client, here or in the offload pool, and read for what it cost. */
import type { FormatName } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { translateAnswer } from '#backends/llm/offload/job.ts'
import { translateAnswerInPool } from '#backends/llm/offload/pool.ts'
import { answerContextOf, type ChatRequest } from '#backends/llm/request/chat-request.ts'
import { NO_CLIENT_TOOLS } from '#backends/llm/translate/client-tools.ts'
import { settleUsage } from '#backends/llm/usage/usage-record.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { offloadFor } from '#engine/contract/client-key.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { deliverFromPool, deliverTranslated, failUnreadable, setMaskedStatus } from './deliver.ts'
import { maskedError } from './masked-errors.ts'

/** `problem`: why the answer cannot be read; null: it can. */
export function convert(ex: Exchange, chat: ChatRequest, format: FormatName, problem: string | null): void {
  const { status, responseBytes: bytes } = ex
  const { client } = chat
  if (bytes !== null && status < 300) chat.capture?.setWhole(format, bytes)
  if (problem !== null) failUnreadable(ex, client, problem)
  else if (bytes === null) return
  else if (status < 300 && format === client && chat.seal === null) readCost(ex, format, bytes)
  else deliverTranslated(ex, client, translateAnswer(jobOf(chat, format, status, bytes)))
}

/**
 * As convert, in the offload pool; never rejects. The cost is settled when it resolves, even for an exchange that is
 * over by then. When the pool is full, only the cost is read, on this thread.
 */
export async function convertInPool(
  ex: Exchange,
  chat: ChatRequest,
  format: FormatName,
  { offload }: BackendContext
): Promise<void> {
  const { status } = ex
  const bytes = ex.responseBytes!
  if (status < 300) chat.capture?.setWhole(format, bytes)
  const made = translateAnswerInPool(offloadFor(ex, offload), jobOf(chat, format, status, bytes))
  await deliverFromPool(ex, chat.client, format === chat.client, made, () => readCost(ex, format, bytes))
}

function jobOf(chat: ChatRequest, format: FormatName, status: number, bytes: Buffer) {
  const { client: to, clientTools, seal } = chat
  return { bytes, status, from: format, to, context: answerContextOf(chat), clientTools, seal }
}

/** Settles the cost of a large answer that the client does not get. Never rejects. */
export async function countInPool(
  ex: Exchange,
  chat: ChatRequest,
  format: FormatName,
  bytes: Buffer,
  { offload }: BackendContext
): Promise<void> {
  const context = answerContextOf(chat)
  const job = { bytes, status: 200, from: format, to: null, context, clientTools: NO_CLIENT_TOOLS }
  const made = await translateAnswerInPool(offloadFor(ex, offload), job).catch(() => null)
  if (made === null) readCost(ex, format, bytes)
  else if (made.cost !== null) settleUsage(ex, made.cost)
}

/** Settles the cost of an answer that goes to the client as it came. */
export function readCost(ex: Exchange, format: FormatName, bytes: Buffer): void {
  try {
    const value = JSON.parse(bytes.toString())
    const error = maskedError(format, value)
    // The body is in the client's own format: only the status was wrong.
    if (error !== null) setMaskedStatus(ex, error.status)
    else settleUsage(ex, FORMATS[format].readSummary(value))
  } catch (error) {
    // The client judges what is malformed in its own format.
    const isOfAnswer = error instanceof FormatError || error instanceof SyntaxError || error instanceof RangeError
    if (!isOfAnswer) throw error
  }
}
