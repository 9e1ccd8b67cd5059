/** Bodies of requests for what providers keep: their ids are opened once, their models written for each provider. */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject, isString } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { parseBody } from '#backends/llm/request/json-body.ts'
import { type Form, isForm, readForm, singleText, withFields } from '#backends/llm/request/multipart.ts'
import type { StoredApi } from './apis.ts'
import { isOpaque, kindOfField, type References } from './references.ts'

/** The provider's name for a model of the client's. `field`: where that stands. Throws FormatError. */
export type MapModel = (model: string, field: string) => string

/** A body with its ids opened. */
export interface StoredBody {
  /** What is sent with the models of `map`; null: the client's own bytes will do. Throws FormatError. */
  readonly write: (map: MapModel) => Buffer | null
  /** Input of a batch that comes in parts, or has: what models and ids it names is not seen. */
  readonly isUnseenBatch?: boolean
  /** It asks for what all clients of the account have made. */
  readonly readsAll?: boolean
  /** Models that are sent as they are named here. */
  readonly otherModels?: readonly string[]
}

export interface BodySource {
  readonly bytes: Buffer
  /** "" where the client says none. */
  readonly contentType: string
  /** A piece of a file, as Google's upload protocol has it. */
  readonly isPiece: boolean
  /** The beginning of a long form, whose files come later: `bytes` are that. Null or absent: it is all here. */
  readonly form?: Form | null
}

const AS_IT_IS: StoredBody = { write: () => null }

/** Throws FormatError. */
export function openBody({ collection }: StoredApi, source: BodySource, references: References): StoredBody {
  const { bytes, contentType, isPiece, form = null } = source
  if (bytes.length === 0 || isPiece) return AS_IT_IS
  if (form !== null) return openBeginning(form, references)
  if (isForm(contentType)) return openForm(collection, bytes, contentType, references)
  // A description of a call (RFC 8866).
  if (/^application\/sdp\b/i.test(contentType) && collection === 'realtime/calls') return AS_IT_IS
  const body = references.openBody(parseBody(bytes))
  return {
    write: (map) => Buffer.from(JSON.stringify(withModels(collection, body, map))),
    isUnseenBatch: isUnseen(collection, body),
    readsAll: collection === 'evals' && readsAll(body),
    otherModels: collection.startsWith('realtime/') ? modelsBelow(body.session ?? body) : []
  }
}

/** Whatever else it says: Together has "batch-api". */
export const isBatchInput = (purpose: Json | undefined): boolean => isString(purpose) && /batch/i.test(purpose)

/** OpenAI's uploads in parts; a file of Google's, which comes in pieces. */
function isUnseen(collection: string, body: JsonObject): boolean {
  if (collection === 'uploads') return isBatchInput(body.purpose)
  if (collection !== 'models') return false
  const batch = memberOf(body, 'batch')
  const config = { ...memberOf(batch, 'inputConfig'), ...memberOf(batch, 'input_config') }
  return (config.fileName ?? config.file_name ?? null) !== null
}

/** Evaluations of the answers that the account has kept ("Evals": data sources). */
function readsAll(body: JsonObject): boolean {
  const types = [memberOf(body, 'data_source_config').type, memberOf(memberOf(body, 'data_source'), 'source').type]
  return types.some((type) => isString(type) && KEPT_SOURCES.has(type))
}

const KEPT_SOURCES: ReadonlySet<string> = new Set(['logs', 'responses', 'stored_completions'])

function memberOf(body: JsonObject, name: string): JsonObject {
  const member = body[name]
  return isObject(member) ? member : {}
}

// --- JSON ---

function withModels(collection: string, body: JsonObject, map: MapModel): JsonObject {
  if (collection === 'messages/batches') return withRequests(body, map)
  if (DEEP.has(collection)) return withModelsBelow(body, '', 0, map) as JsonObject
  const outer = withModel(body, '', map)
  return isObject(outer.session) ? { ...outer, session: withModel(outer.session, 'session.', map) } : outer
}

/** Google's fields say "models/NAME". */
function withModel(holder: JsonObject, at: string, map: MapModel): JsonObject {
  const { model } = holder
  if (!isString(model)) return holder
  const prefix = model.startsWith('models/') ? 'models/' : ''
  return { ...holder, model: prefix + map(model.slice(prefix.length), `${at}model`) }
}

/** Graders, runs and requests within a batch name models of their own. */
const DEEP: ReadonlySet<string> = new Set(['evals', 'fine_tuning/jobs', 'models'])
const DEPTH_MAX = 64

/** Throws FormatError. */
function withModelsBelow(value: Json, at: string, depth: number, map: MapModel): Json {
  if (depth > DEPTH_MAX) throw new FormatError(at, 'is nested too deeply')
  if (Array.isArray(value)) return value.map((one: Json, i) => withModelsBelow(one, `${at}[${i}]`, depth + 1, map))
  if (!isObject(value)) return value
  const prefix = at === '' ? '' : `${at}.`
  const members = Object.entries(withModel(value, prefix, map)).map(([name, member]) => {
    return [name, isOpaque(name) ? member : withModelsBelow(member, `${prefix}${name}`, depth + 1, map)] as const
  })
  return Object.fromEntries(members)
}

/** Below the session, whose own is the first: of transcriptions. Throws FormatError. */
function modelsBelow(session: Json): readonly string[] {
  const models: string[] = []
  const note: MapModel = (model) => {
    models.push(model)
    return model
  }
  withModelsBelow(session, 'session', 0, note)
  return models.slice(isObject(session) && isString(session.model) ? 1 : 0)
}

/** Of a batch of messages, which has its requests in it. */
function withRequests(body: JsonObject, map: MapModel): JsonObject {
  const { requests } = body
  if (!Array.isArray(requests)) return body
  const mapped = requests.map((one: Json, i): Json => {
    if (!isObject(one) || !isObject(one.params)) return one
    return { ...one, params: withModel(one.params, `requests[${i}].params.`, map) }
  })
  return { ...body, requests: mapped }
}

// --- forms ---

function openForm(collection: string, bytes: Buffer, contentType: string, references: References): StoredBody {
  const form = readForm(bytes, contentType)
  const opened = withOpenFields(form, references)
  const isBatch = isBatchInput(singleText(form, 'purpose') ?? undefined)
  if (collection === 'files' && isBatch) return batchFile(readForm(opened, contentType), references)
  const session = collection === 'realtime/calls' ? singleText(form, 'session') : null
  if (session !== null) {
    const otherModels = modelsBelow(parseBody(Buffer.from(session)))
    return { write: (map) => withSession(readForm(opened, contentType), session, map), otherModels }
  }
  return { write: () => (opened === bytes ? null : opened), isUnseenBatch: collection === 'uploads' && isBatch }
}

/** What follows is none of a batch, and names nothing (long-forms.ts). */
function openBeginning(form: Form, references: References): StoredBody {
  const opened = withOpenFields(form, references)
  if (isBatchInput(singleText(form, 'purpose') ?? undefined)) throw new FormatError('file', 'must be here as a whole')
  return { write: () => (opened === form.bytes ? null : opened) }
}

/** Fields that name an object, as in JSON. */
function withOpenFields(form: Form, references: References): Buffer {
  const opened = new Map<string, string>()
  for (const { name } of form.parts) {
    const kind = kindOfField(name)
    const id = kind === null ? null : singleText(form, name)
    if (id !== null && id !== '') opened.set(name, references.open(id, kind!, name))
  }
  return opened.size === 0 ? form.bytes : withFields(form, opened)
}

function withSession(form: Form, session: string, map: MapModel): Buffer {
  const body = parseBody(Buffer.from(session))
  return withFields(form, new Map([['session', JSON.stringify(withModel(body, 'session.', map))]]))
}

const LINES_MAX = 50_000

/** The input of a batch: each line is a request, whose ids and model are those of a request (OpenAI, "Batch"). */
function batchFile(form: Form, references: References): StoredBody {
  const files = form.parts.filter(({ name }) => name === 'file')
  if (files.length !== 1) throw new FormatError('file', 'is required, once')
  const [{ start, end }] = files as [(typeof files)[number]]
  const lines = form.bytes.toString('utf8', start, end).split('\n')
  if (lines.length > LINES_MAX + 1) throw new FormatError('file', `has more than ${LINES_MAX} lines`)
  const requests = lines.flatMap((line, i) => (line.trim() === '' ? [] : [readLine(line, `line ${i + 1}`, references)]))
  const write: StoredBody['write'] = (map) => {
    const text = requests.map(({ at, request }) => JSON.stringify(withBodyModel(request, at, map)))
    return withFields(form, new Map([['file', `${text.join('\n')}\n`]]))
  }
  return { write }
}

interface BatchLine {
  readonly at: string
  readonly request: JsonObject
}

function readLine(line: string, at: string, references: References): BatchLine {
  try {
    return { at, request: references.openBody(parseBody(Buffer.from(line))) }
  } catch (error) {
    if (!(error instanceof FormatError)) throw error
    throw new FormatError('file', `${at}: ${error.field === '' ? '' : `${error.field}: `}${error.message}`)
  }
}

function withBodyModel(request: JsonObject, at: string, map: MapModel): JsonObject {
  const { body } = request
  if (!isObject(body) || !isString(body.model)) throw new FormatError('file', `${at}: body.model is required`)
  return { ...request, body: withModel(body, `file: ${at}: body.`, map) }
}
