/**
 * What a client gets of an answer that is no chat, and what that has cost: from plain data to plain data, so that a
 * large one can be read in another thread (offload/job.ts).
 */

import { maskedError } from '#backends/llm/answer/masked-errors.ts'
import { type ErrorWords, inWordsOf } from '#backends/llm/answer/vendor-errors.ts'
import { type FormatName, type Json, type JsonObject, NO_USAGE, type Usage } from '#backends/llm/conversation.ts'
import { FilteredError, reasonOf } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { jsonBytes } from '#engine/kit/shared-bytes.ts'
import type { AnswerSpec } from './answer-spec.ts'
import { isMediaBytes, type MediaBytes } from './media-wires.ts'
import type { OperationCost } from './operation.ts'
import { operationKind } from './operations.ts'

export interface OperationAnswer {
  readonly bytes: Uint8Array
  readonly status: number
  readonly client: FormatName
  readonly providerFormat: FormatName
  readonly isNative: boolean
  readonly answerSpec: AnswerSpec
  /** Of errors for the client; absent: those of its format. */
  readonly words?: ErrorWords
  /** Tokens of the request, where a field of the header says them; absent: none does. */
  readonly inputTokens?: number
}

export interface TranslatedOperation extends OperationCost {
  /** Null: the provider's will do. */
  readonly bytes: Buffer | null
  /** Of `bytes`; absent: they are JSON. */
  readonly contentType?: string
  /** Why it cannot be translated; null: it can. */
  readonly problem: string | null
  /** Of an error behind another status; absent: the status stays. */
  readonly status?: number
}

const UNKNOWN: OperationCost = { usage: null, model: null }

/** Never throws. */
export function translateOperationAnswer({
  bytes,
  status,
  client,
  providerFormat,
  isNative,
  answerSpec,
  words,
  inputTokens
}: OperationAnswer): TranslatedOperation {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  let cost: OperationCost = UNKNOWN
  try {
    if (status >= 300) {
      const error = FORMATS[providerFormat].readError(status, text)
      const body = inWordsOf(words ?? null, FORMATS[client].writeError(error), error.message, null)
      const own = error.status === status ? {} : { status: error.status }
      return { ...cost, ...own, bytes: jsonBytes(body), problem: null }
    }
    const body = JSON.parse(text) as Json
    // What is kept of an answer that has failed is no failure to show it.
    if (operationKind(answerSpec.of).rewrites) return { ...cost, ...printed(bodyOf(answerSpec, body)), problem: null }
    const error = maskedError(providerFormat, body)
    if (error !== null) return { ...cost, bytes: null, problem: isNative ? null : error.message }
    // It is owed also when the rest cannot be read.
    cost = costIn(answerSpec, body)
    if (cost.usage === null && inputTokens !== undefined) cost = { ...cost, usage: { ...NO_USAGE, input: inputTokens } }
    return { ...cost, ...(isNative ? { bytes: null } : printed(bodyOf(answerSpec, body, cost.usage))), problem: null }
  } catch (error) {
    if (error instanceof FilteredError && !isNative) return { ...cost, ...refusedBy(error, client, words ?? null) }
    // What is of the client's own format it may judge by itself.
    return { ...cost, bytes: null, problem: isNative ? null : reasonOf(error) }
  }
}

/** A success without what was wanted: for clients of OpenAI it is an error of the request. */
function refusedBy(
  { message }: FilteredError,
  client: FormatName,
  words: ErrorWords | null
): Pick<TranslatedOperation, 'status' | 'bytes' | 'problem'> {
  const error = { status: 400, type: 'filter', message, code: null, param: null } as const
  const body = inWordsOf(words, FORMATS[client].writeError(error), message, null)
  return { status: error.status, bytes: jsonBytes(body), problem: null }
}

function printed(made: JsonObject | MediaBytes): Pick<TranslatedOperation, 'bytes' | 'contentType'> {
  return isMediaBytes(made) ? made : { bytes: jsonBytes(made) }
}

/** What a whole answer of success has cost, whatever becomes of the rest. Never throws. */
export function operationCost(answer: OperationAnswer): OperationCost {
  return translateOperationAnswer({ ...answer, isNative: true })
}

/** Throws FormatError. */
export function costIn(spec: AnswerSpec, body: Json): OperationCost {
  return operationKind(spec.of).costIn?.(spec, body) ?? UNKNOWN
}

/** For a client of another format. Throws FormatError. */
export function bodyOf(spec: AnswerSpec, body: Json, counted: Usage | null = null): JsonObject | MediaBytes {
  const made = operationKind(spec.of).answer?.(spec, body, counted)
  if (made === undefined) throw new Error(`${spec.of} has answers of one format`)
  return made
}
