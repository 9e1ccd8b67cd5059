/**
 * What is done with a large body in another thread (engine/process/jobs.ts): it is read, edited, written for a
 * provider; an answer is read and written for a client. Plain data in and out. All of it is what is done with a small
 * one where that is (request.ts, answers.ts).
 */

import { disguisedError } from '#backends/llm/answer/masked-errors.ts'
import type { ChatEvent, FormatName, JsonObject, Usage } from '#backends/llm/conversation.ts'
import { modelOf } from '#backends/llm/edits/edit.ts'
import { type Asked, type ChatFormat, FormatError, Losses, reasonOf } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { draft, type Recipe, writerOf } from '#backends/llm/plan/request-plan.ts'
import { bodyFor, readAhead, readChat } from '#backends/llm/request/request.ts'
import { type Call, type PrintedCall, printCall, readCall } from '#backends/llm/routes/call.ts'
import { type Heard, told } from '#backends/llm/routes/operation-answer.ts'
import { withStops } from '#backends/llm/stream/event-order.ts'
import { isJson } from '#backends/llm/stream/translating-tap.ts'
import { type ClientTools, NO_CLIENT_TOOLS, withOwnCalls } from '#backends/llm/translate/client-tools.ts'
import { type Dropped, droppedOf, NONE_DROPPED } from '#backends/llm/translate/dropped-fields.ts'
import { type SseEvent, SseReader } from '#engine/http/sse.ts'
import { bufferOf, jsonBytes } from '#engine/kit/shared-bytes.ts'

/** A request's body. */
interface Given {
  /** The same for all jobs over it. */
  readonly id: number
  /** Null: they have been told already. */
  readonly bytes: Uint8Array | null
}

/** Which model a request is for. */
export interface ModelJob extends Given {
  readonly kind: 'model'
}

/** What one provider is sent for it. */
export interface RequestJob extends Given {
  readonly kind: 'request'
  readonly client: FormatName
  readonly path: string
  readonly query: string
  readonly recipe: Recipe
}

/** What one provider is sent for a request that is no chat. */
export interface CallJob extends Given, Omit<Call, 'bytes'> {
  readonly kind: 'call'
  readonly recipe: Recipe
}

/** What a provider has answered. */
export interface AnswerJob {
  readonly kind: 'answer'
  readonly bytes: Uint8Array
  readonly status: number
  readonly from: FormatName
  readonly to: FormatName
  readonly asked: Asked
  /** What the provider has been told as functions. */
  readonly clientTools: ClientTools
}

/** As AnswerJob, to what is no chat. */
export interface TellJob extends Heard {
  readonly kind: 'tell'
}

/** One long event of a stream that passes as it is. */
export interface EventJob {
  readonly kind: 'event'
  readonly format: FormatName
  readonly bytes: Uint8Array
}

export type LargeJob = ModelJob | RequestJob | CallJob | AnswerJob | TellJob | EventJob

/** Of a request, as the configuration has changed it. */
export interface Facts {
  /** By the client's name. */
  readonly model: string
  readonly isStreamed: boolean
  readonly wantsUsage: boolean
  readonly count: number
  readonly isEdited: boolean
  readonly order: { readonly format: FormatName; readonly model: string }
  readonly clientTools: ClientTools
}

/** The body has to be told (again). */
export interface Forgotten {
  readonly kind: 'forgotten'
}

export interface Refused {
  readonly kind: 'refused'
  readonly field: string
  readonly message: string
  /** Whoever is asked: it is no request. */
  readonly isUnreadable: boolean
  /** Null: it has not come so far. */
  readonly facts: Facts | null
}

export interface Written {
  readonly kind: 'written'
  readonly facts: Facts
  /** Null: those of the client will do. */
  readonly bytes: Uint8Array | null
  readonly lost: Dropped
}

export interface Called {
  readonly kind: 'called'
  readonly printed: PrintedCall
}

export interface Named {
  readonly kind: 'named'
  readonly model: string
}

export interface Answered {
  readonly kind: 'answered'
  /** Null: it does not say. */
  readonly cost: {
    readonly usage: Usage | null
    readonly model: string | null
    readonly serviceTier: string | null
  } | null
  /** Null: the provider's will do. */
  readonly bytes: Uint8Array | null
  readonly lost: Dropped
  /** Why it cannot be told; null: it can. */
  readonly problem: string | null
  /** Of an error that came as a success; null: the status stays. */
  readonly status: number | null
}

export interface EventHeard {
  readonly kind: 'heard'
  /** What it says of the answer's cost and end. */
  readonly said: readonly ChatEvent[]
  /** It says something that is not known here. */
  readonly isUnread: boolean
}

export type Made = Forgotten | Refused | Written | Called | Named | Answered | EventHeard

export const TOO_DEEP = 'the body is nested too deeply'

export function runLargeJob(job: LargeJob): Made {
  if (job.kind === 'answer') return answered(job)
  if (job.kind === 'tell') return answeredCall(job)
  if (job.kind === 'event') return heard(job)
  const bytes = bodies.take(job)
  if (bytes === null) return { kind: 'forgotten' }
  if (job.kind === 'model') return named(bytes)
  return job.kind === 'call' ? called(bytes, job) : written(bytes, job)
}

// --- requests ---

/** Bodies that are remembered: who asks for the model asks for more at once, and who fails is followed by another. */
const KEPT_MAX = 2
const KEPT_BYTES_MAX = 32 * 1024 * 1024

/** Bodies that have been told, by id, the last one last. What has been read of them is kept with them (readAhead). */
class Bodies {
  readonly #kept = new Map<number, Buffer>()

  /** Null: it has not been told, or has been forgotten. */
  take({ id, bytes }: Given): Buffer | null {
    const known = this.#kept.get(id)
    this.#kept.delete(id)
    // What is told again has been read already.
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

function named(bytes: Buffer): Made {
  try {
    return { kind: 'named', model: modelOf(readAhead(bytes)) }
  } catch (error) {
    return refusal(error, true, null)
  }
}

function written(bytes: Buffer, { client, path, query, recipe }: RequestJob): Made {
  let facts: Facts | null = null
  let isUnreadable = true
  try {
    readAhead(bytes)
    const chat = readChat(client, bytes, path, query)
    isUnreadable = false
    const { sent, order } = draft(chat, writerOf(recipe))
    const { model, isStreamed, wantsUsage, count, isEdited } = sent
    const told = { format: order.format, model: order.model }
    facts = { model, isStreamed, wantsUsage, count, isEdited, order: told, clientTools: NO_CLIENT_TOOLS }
    const losses = new Losses()
    const body = bodyFor(sent, order, losses)
    facts = { ...facts, clientTools: sent.clientTools }
    const lost = droppedOf(losses.fields, losses.kinds)
    return { kind: 'written', facts, bytes: body === null ? null : jsonBytes(body), lost }
  } catch (error) {
    return refusal(error, isUnreadable, facts)
  }
}

function called(bytes: Buffer, { type, path, query, recipe }: CallJob): Made {
  let isUnreadable = true
  try {
    readAhead(bytes)
    const read = readCall({ type, bytes, path, query })
    isUnreadable = false
    return { kind: 'called', printed: printCall(read, writerOf(recipe)) }
  } catch (error) {
    return refusal(error, isUnreadable, null)
  }
}

/** Throws what is no fault of the request. */
function refusal(error: unknown, isUnreadable: boolean, facts: Facts | null): Refused {
  if (error instanceof FormatError) {
    return { kind: 'refused', field: error.field, message: error.message, isUnreadable, facts }
  }
  if (error instanceof RangeError) {
    return { kind: 'refused', field: '', message: TOO_DEEP, isUnreadable: true, facts }
  }
  throw error
}

// --- answers ---

const SILENT: Answered = { kind: 'answered', cost: null, bytes: null, lost: NONE_DROPPED, problem: null, status: null }

/** Also of a small answer, where that is. */
export function answered({ bytes, status, from, to, asked, clientTools }: Omit<AnswerJob, 'kind'>): Answered {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const [reader, writer] = [FORMATS[from]!, FORMATS[to]!]
  if (status >= 300) return { ...SILENT, bytes: jsonBytes(writer.writeError(reader.readError(status, text))) }
  if (from === to) return { ...SILENT, cost: costIn(reader, text) }
  let cost: Answered['cost'] = null
  try {
    const value = JSON.parse(text) as JsonObject
    const error = disguisedError(from, value)
    if (error !== null) return { ...SILENT, status: error.status, bytes: jsonBytes(writer.writeError(error)) }
    const answer = withStops(reader.readAnswer(value))
    const { usage, model, serviceTier } = answer
    cost = { usage, model, serviceTier }
    const losses = new Losses()
    const own = withOwnCalls(answer, clientTools, to)
    const body = jsonBytes(writer.writeAnswer(own, asked, losses))
    return { ...SILENT, cost, bytes: body, lost: droppedOf(losses.fields) }
  } catch (error) {
    // It is owed also when the rest cannot be read, or be written.
    return { ...SILENT, cost: cost ?? costIn(reader, text), problem: reasonOf(error) }
  }
}

/** Null: it does not say. */
function costIn({ readCost }: ChatFormat, text: string): Answered['cost'] {
  try {
    return { ...readCost(JSON.parse(text)), serviceTier: null }
  } catch (error) {
    // Of an answer that passes as it is the client may judge by itself what is wrong with it.
    if (error instanceof FormatError || error instanceof SyntaxError || error instanceof RangeError) return null
    throw error
  }
}

const OF_COST: ReadonlySet<ChatEvent['kind']> = new Set(['start', 'usage', 'error', 'done'])

function heard({ format, bytes }: EventJob): EventHeard {
  const events: SseEvent[] = []
  const body = bufferOf(bytes)
  new SseReader().push(body, 0, body.length, events)
  const reader = FORMATS[format]!.streamReader()
  try {
    const said = events.flatMap((event) => reader.read(event)).filter(({ kind }) => OF_COST.has(kind))
    return { kind: 'heard', said, isUnread: false }
  } catch (error) {
    if (error instanceof FormatError)
      return { kind: 'heard', said: [], isUnread: events.some(({ data }) => isJson(data)) }
    throw error
  }
}

function answeredCall(job: TellJob): Answered {
  const { usage, bytes, problem } = told(job)
  const cost = usage === null ? null : { usage, model: null, serviceTier: null }
  return { ...SILENT, cost, bytes, problem }
}
