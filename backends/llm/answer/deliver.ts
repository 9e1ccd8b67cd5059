/** How a client gets what has been made of an answer, here or in another thread. */

import type { FormatName } from '#backends/llm/conversation.ts'
import type { Answered } from '#backends/llm/offload/job.ts'
import { LARGE_BYTES, tellingFor } from '#backends/llm/offload/large-body.ts'
import { Attempts } from '#backends/llm/plan/attempts.ts'
import { costOf, type Heard, told } from '#backends/llm/routes/operation-answer.ts'
import { DROPPED, type Dropped, listOf } from '#backends/llm/translate/dropped-fields.ts'
import { settle } from '#backends/llm/usage/usage-record.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { replaceResponseBody } from '#engine/contract/body.ts'
import { offloadFor } from '#engine/contract/client-key.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { bufferOf } from '#engine/kit/shared-bytes.ts'
import { ownError } from './local-replies.ts'

export function refuse(ex: Exchange, client: FormatName, why: string): void {
  ex.status = 502
  ex.response!.remove('location')
  const message = `the provider's answer cannot be read: ${why}`
  const { body, headers } = ownError(ex, client, { status: 502, message, code: null, param: null })
  ex.response!.set(...headers)
  writeBody(ex, body)
}

/** Gives `ex` the answer that another thread makes. `count`: settles what it has cost, where none does. */
export async function take(
  ex: Exchange,
  client: FormatName,
  isNative: boolean,
  making: Promise<Answered>,
  count: () => void
): Promise<void> {
  const { status, response } = ex
  const made = await making.catch(() => null)
  if (made === null && status < 300) count()
  const isGone = ex.response !== response || ex.localReply !== null || ex.responseDone
  if (made !== null && isGone && made.cost !== null) settle(ex, made.cost)
  else if (made !== null && !isGone) give(ex, client, made)
  else if (!isGone && !isNative) refuse(ex, client, 'too much is waiting to be read')
}

/** Of what is no chat, wherever it is read. Never rejects. */
export async function tellWhole(ex: Exchange, heard: Heard, context: BackendContext): Promise<void> {
  if (heard.bytes.length > LARGE_BYTES) await tellElsewhere(ex, heard, context)
  else tellHere(ex, heard)
}

export function tellHere(ex: Exchange, heard: Heard): void {
  const { usage, bytes, problem } = told(heard)
  if (usage !== null) settle(ex, { usage, model: null })
  if (problem !== null) refuse(ex, heard.client, problem)
  else if (bytes !== null) writeBytes(ex, bytes)
}

/** As tellHere, in the offload pool, and as convertElsewhere. It never rejects. */
export function tellElsewhere(ex: Exchange, heard: Heard, { offload }: BackendContext): Promise<void> {
  return take(ex, heard.client, heard.isNative, tellingFor(offloadFor(ex, offload), heard), () => {
    const usage = costOf(heard)
    if (usage !== null) settle(ex, { usage, model: null })
  })
}

export function give(ex: Exchange, client: FormatName, { cost, problem, bytes, lost, status }: Answered): void {
  if (cost !== null) settle(ex, cost)
  if (status !== null) tellStatus(ex, status)
  if (problem !== null) refuse(ex, client, problem)
  else if (bytes !== null) {
    writeBytes(ex, bufferOf(bytes))
    lose(ex, lost)
  }
}

/** The answer was an error by another status. */
export function tellStatus(ex: Exchange, status: number): void {
  ex.status = status
  if (ex.serving instanceof Attempts) ex.serving.wasDisguised = true
}

function lose(ex: Exchange, dropped: Dropped): void {
  if (dropped.count === 0) return
  const before = ex.response!.get(DROPPED)
  const now = listOf(dropped)
  ex.response!.set(DROPPED, before === undefined ? now : `${before}, ${now}`)
}

export const writeBody = (ex: Exchange, body: object): void => writeBytes(ex, Buffer.from(JSON.stringify(body)))

/** JSON. */
function writeBytes(ex: Exchange, bytes: Buffer): void {
  replaceResponseBody(ex, bytes)
  ex.response!.set('Content-Type', 'application/json')
}
