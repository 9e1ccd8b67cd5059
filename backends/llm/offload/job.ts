/**
 * What is done with a large body in another thread (engine/process/jobs.ts): it is read, edited, written for a
 * provider; an answer is read and written for a client. Plain data in and out. All of it is what is done with a small
 * one where that is (request/, answer/).
 */

import { maskedError } from '#backends/llm/answer/masked-errors.ts'
import type { ChatEvent, ClientFormat, FormatName, JsonObject, StopReason, Usage } from '#backends/llm/conversation.ts'
import { isJson } from '#backends/llm/formats/fields.ts'
import { type AnswerContext, FormatError, Losses, type ProviderFormat, reasonOf } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { type ProviderSpec, planRequest, resolveProvider } from '#backends/llm/plan/request-plan.ts'
import { modelAhead, readAhead } from '#backends/llm/request/body-model.ts'
import { readChat } from '#backends/llm/request/chat-request.ts'
import { parseAhead } from '#backends/llm/request/json-body.ts'
import { providerBody } from '#backends/llm/request/provider-request.ts'
import { type PrintedOperation, printOperation, readOperation } from '#backends/llm/routes/body-operation.ts'
import type { OperationSource } from '#backends/llm/routes/operation.ts'
import { type OperationAnswer, translateOperationAnswer } from '#backends/llm/routes/operation-answer.ts'
import { sealedAnswer } from '#backends/llm/stored/answer.ts'
import {
  type OpenedIds,
  type OpenTask,
  openIds,
  readStored,
  type StoredReading,
  type StoredTask
} from '#backends/llm/stored/jobs.ts'
import type { Seal } from '#backends/llm/stored/seal.ts'
import { withToolStops } from '#backends/llm/stream/event-order.ts'
import { type ClientTools, NO_CLIENT_TOOLS, withClientCalls } from '#backends/llm/translate/client-tools.ts'
import { type DroppedFields, droppedOf, NONE_DROPPED } from '#backends/llm/translate/dropped-fields.ts'
import { settingsOf } from '#backends/llm/usage/request-settings.ts'
import { type SseEvent, SseReader } from '#engine/http/sse.ts'
import { bufferOf, jsonBytes } from '#engine/kit/shared-bytes.ts'
import type { Units } from '#engine/prices/cost.ts'
import type { RequestFacts } from './large-request.ts'

/** A request's body. */
interface JobBody {
  /** The same for all jobs over it. */
  readonly id: number
  /** Null: the thread has them already. */
  readonly bytes: Uint8Array | null
}

/** Which model a request is for. */
export interface ModelJob extends JobBody {
  readonly kind: 'model'
  readonly contentType: string
}

/** What one provider is sent for it. */
export interface RequestJob extends JobBody {
  readonly kind: 'request'
  readonly client: ClientFormat
  readonly path: string
  readonly query: string
  readonly spec: ProviderSpec
  /** A span will tell what the request asks. */
  readonly isTraced: boolean
}

/** What one provider is sent for a request that is no chat. */
export interface OperationJob extends JobBody, Omit<OperationSource, 'bytes'> {
  readonly kind: 'operation'
  readonly spec: ProviderSpec
}

/** What a provider has answered. */
export interface AnswerJob {
  readonly kind: 'answer'
  readonly bytes: Uint8Array
  readonly status: number
  readonly from: FormatName
  /** Null: only what it has cost is wanted. */
  readonly to: ClientFormat | null
  readonly context: AnswerContext
  /** Client tools that the provider got as functions. */
  readonly clientTools: ClientTools
  /** What ids in it are marked with; null or absent: nothing. */
  readonly seal?: Seal | null
}

/** As AnswerJob, to what is no chat. */
export interface OperationAnswerJob extends OperationAnswer {
  readonly kind: 'operationAnswer'
}

/** One long event of a stream that passes as it is. */
export interface EventJob {
  readonly kind: 'event'
  readonly format: FormatName
  readonly bytes: Uint8Array
}

/** About what providers keep. */
export type OpenJob = JobBody & OpenTask
export type StoredJob = JobBody & StoredTask

export type LargeJob =
  | ModelJob
  | OpenJob
  | StoredJob
  | RequestJob
  | OperationJob
  | AnswerJob
  | OperationAnswerJob
  | EventJob

/** The body has to be sent to the thread (again). */
export interface EvictedBody {
  readonly kind: 'evicted'
}

export interface RefusedRequest {
  readonly kind: 'refused'
  readonly field: string
  readonly message: string
  /** Absent: 400. */
  readonly status?: FormatError['status']
  /** No provider could be asked. */
  readonly isUnreadable: boolean
  /** Null: it has not come so far. */
  readonly facts: RequestFacts | null
}

export interface WrittenRequest {
  readonly kind: 'request'
  readonly facts: RequestFacts
  /** Null: those of the client will do. */
  readonly bytes: Uint8Array | null
  readonly lost: DroppedFields
}

export interface WrittenOperation {
  readonly kind: 'operation'
  readonly printed: PrintedOperation
}

export interface RequestedModel {
  readonly kind: 'model'
  readonly model: string
}

export interface TranslatedAnswer {
  readonly kind: 'answer'
  /** Null: it does not say. */
  readonly cost: {
    readonly usage: Usage | null
    readonly model: string | null
    readonly serviceTier: string | null
    readonly id: string | null
    readonly stops: readonly StopReason[] | null
    readonly units?: Units | undefined
  } | null
  /** Null: the provider's will do. */
  readonly bytes: Uint8Array | null
  /** Of `bytes`; absent: they are JSON. */
  readonly contentType?: string
  readonly lost: DroppedFields
  /** Why it cannot be translated; null: it can. */
  readonly problem: string | null
  /** Of an error that came behind another; null: the status stays. */
  readonly status: number | null
}

export interface EventReading {
  readonly kind: 'event'
  /** What it says of the answer's cost and end. */
  readonly events: readonly ChatEvent[]
  /** It says something that is not known here. */
  readonly isUnread: boolean
}

export type JobResult =
  | OpenedIds
  | StoredReading
  | EvictedBody
  | RefusedRequest
  | WrittenRequest
  | WrittenOperation
  | RequestedModel
  | TranslatedAnswer
  | EventReading

export const TOO_DEEP = 'the body is nested too deeply'

export function runLargeJob(job: LargeJob): JobResult {
  if (job.kind === 'answer') return translateAnswer(job)
  if (job.kind === 'operationAnswer') return translateOperation(job)
  if (job.kind === 'event') return readEvent(job)
  const bytes = bodies.take(job)
  if (bytes === null) return { kind: 'evicted' }
  if (job.kind === 'model') return readModel(bytes, job)
  if (job.kind === 'open' || job.kind === 'stored') return readKept(bytes, job)
  return job.kind === 'operation' ? writeOperation(bytes, job) : writeRequest(bytes, job)
}

// --- requests ---

/** Bodies that are kept: a request for the model is followed by one for the body, and a failed attempt by another. */
const KEPT_MAX = 2
const KEPT_BYTES_MAX = 32 * 1024 * 1024

/** Bodies that the thread has got, by id, the last one last. Their parsed parts are kept with them (parseAhead). */
class Bodies {
  readonly #kept = new Map<number, Buffer>()

  /** Null: the thread has not got it, or has dropped it. */
  take({ id, bytes }: JobBody): Buffer | null {
    const known = this.#kept.get(id)
    this.#kept.delete(id)
    // A body that comes again has been parsed already.
    const body = known ?? (bytes === null ? undefined : bufferOf(bytes))
    if (body === undefined) return null
    this.#kept.set(id, body)
    for (const old of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_MAX && this.#length <= KEPT_BYTES_MAX) break
      this.#kept.delete(old)
    }
    return body
  }

  get #length(): number {
    let length = 0
    for (const body of this.#kept.values()) length += body.length
    return length
  }
}

export const bodies = new Bodies()

function readModel(bytes: Buffer, { contentType }: ModelJob): JobResult {
  try {
    return { kind: 'model', model: modelAhead(bytes, contentType) }
  } catch (error) {
    return refusal(error, true, null)
  }
}

function readKept(bytes: Buffer, job: OpenTask | StoredTask): JobResult {
  try {
    return job.kind === 'open' ? openIds(bytes, job) : readStored(bytes, job)
  } catch (error) {
    return refusal(error, job.kind === 'open', null)
  }
}

function writeRequest(bytes: Buffer, { client, path, query, spec, isTraced }: RequestJob): JobResult {
  let facts: RequestFacts | null = null
  let isUnreadable = true
  try {
    parseAhead(bytes)
    const chat = readChat(client, bytes, path, query)
    isUnreadable = false
    const { request, plan } = planRequest(chat, resolveProvider(spec))
    const { model, isStreamed, wantsUsage, count, isEdited } = request
    const planned = { format: plan.format, model: plan.model }
    const settings = isTraced ? settingsOf(client, request.body) : undefined
    facts = { model, isStreamed, wantsUsage, count, isEdited, plan: planned, clientTools: NO_CLIENT_TOOLS, settings }
    const losses = new Losses()
    const body = providerBody(request, plan, losses)
    facts = { ...facts, clientTools: request.clientTools }
    const lost = droppedOf(losses.fields, losses.kinds)
    return { kind: 'request', facts, bytes: body === null ? null : jsonBytes(body), lost }
  } catch (error) {
    return refusal(error, isUnreadable, facts)
  }
}

function writeOperation(bytes: Buffer, { type, contentType, path, query, spec }: OperationJob): JobResult {
  let isUnreadable = true
  const source = { type, bytes, contentType, path, query }
  try {
    readAhead(bytes, contentType)
    const read = readOperation(source)
    isUnreadable = false
    return { kind: 'operation', printed: printOperation(read, source, resolveProvider(spec)) }
  } catch (error) {
    return refusal(error, isUnreadable, null)
  }
}

/** Throws what is no fault of the request. */
function refusal(error: unknown, isUnreadable: boolean, facts: RequestFacts | null): RefusedRequest {
  if (error instanceof FormatError) {
    const { field, message, status } = error
    return { kind: 'refused', field, message, status, isUnreadable, facts }
  }
  if (error instanceof RangeError) {
    return { kind: 'refused', field: '', message: TOO_DEEP, isUnreadable: true, facts }
  }
  throw error
}

// --- answers ---

const SILENT: TranslatedAnswer = {
  kind: 'answer',
  cost: null,
  bytes: null,
  lost: NONE_DROPPED,
  problem: null,
  status: null
}

/** Also of a small answer, where that is. */
export function translateAnswer({
  bytes,
  status,
  from,
  to,
  context,
  clientTools,
  seal = null
}: Omit<AnswerJob, 'kind'>): TranslatedAnswer {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const reader: ProviderFormat = FORMATS[from]
  if (to === null) return { ...SILENT, cost: costIn(reader, text) }
  const writer = FORMATS[to]
  if (status >= 300) {
    const error = reader.readError(status, text)
    const own = error.status === status ? null : error.status
    return { ...SILENT, status: own, bytes: jsonBytes(writer.writeError(error)) }
  }
  if (from === to)
    return { ...SILENT, cost: costIn(reader, text), bytes: seal === null ? null : sealedAnswer(text, seal) }
  let cost: TranslatedAnswer['cost'] = null
  try {
    const value = JSON.parse(text) as JsonObject
    const error = maskedError(from, value)
    if (error !== null) {
      // What has been read and made is owed.
      const owed = costIn(reader, text)
      const own = owed?.usage == null ? null : owed
      return { ...SILENT, cost: own, status: error.status, bytes: jsonBytes(writer.writeError(error)) }
    }
    const answer = withToolStops(reader.readAnswer(value))
    const { usage, model, serviceTier, id, choices } = answer
    cost = { usage, model, serviceTier, id, stops: choices.map(({ stop }) => stop) }
    const losses = new Losses()
    const own = withClientCalls(answer, clientTools, to)
    const body = jsonBytes(writer.writeAnswer(own, context, losses))
    return { ...SILENT, cost, bytes: body, lost: droppedOf(losses.fields) }
  } catch (error) {
    // It is owed also when the rest cannot be read, or be written.
    return { ...SILENT, cost: cost ?? costIn(reader, text), problem: reasonOf(error) }
  }
}

/** Null: it does not say. */
function costIn({ readSummary }: ProviderFormat, text: string): TranslatedAnswer['cost'] {
  try {
    return readSummary(JSON.parse(text))
  } catch (error) {
    // Of an answer that passes as it is the client may judge by itself what is wrong with it.
    if (error instanceof FormatError || error instanceof SyntaxError || error instanceof RangeError) return null
    throw error
  }
}

const OF_COST: ReadonlySet<ChatEvent['kind']> = new Set(['start', 'usage', 'stop', 'error', 'done'])

function readEvent({ format, bytes }: EventJob): EventReading {
  const events: SseEvent[] = []
  const body = bufferOf(bytes)
  new SseReader().push(body, 0, body.length, events)
  const reader = FORMATS[format].streamReader()
  try {
    const costEvents = events.flatMap((event) => reader.read(event)).filter(({ kind }) => OF_COST.has(kind))
    return { kind: 'event', events: costEvents, isUnread: false }
  } catch (error) {
    if (error instanceof FormatError)
      return { kind: 'event', events: [], isUnread: events.some(({ data }) => isJson(data)) }
    throw error
  }
}

function translateOperation(job: OperationAnswerJob): TranslatedAnswer {
  const { usage, model, units, bytes, contentType, problem, status = null } = translateOperationAnswer(job)
  const isKnown = usage !== null || model !== null || units !== undefined
  const cost = isKnown ? { usage, model, units, serviceTier: null, id: null, stops: null } : null
  return { ...SILENT, cost, bytes, ...(contentType === undefined ? {} : { contentType }), problem, status }
}
