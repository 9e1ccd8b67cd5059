/** Bodies of requests for what providers keep: their ids are opened once, their models written for each provider. */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject, isString } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { parseBody } from '#backends/llm/request/json-body.ts'
import { type Form, isForm, readForm, singleText, withFields } from '#backends/llm/request/multipart.ts'
import type { StoredApi } from './apis.ts'
import { kindOfField, type References } from './references.ts'

/** The provider's name for a model of the client's. `field`: where that stands. Throws FormatError. */
export type MapModel = (model: string, field: string) => string

/** A body with its ids opened. */
export interface StoredBody {
  /** What is sent with the models of `map`; null: the client's own bytes will do. Throws FormatError. */
  readonly write: (map: MapModel) => Buffer | null
  /** Input of a batch that comes in parts: what models it names is not seen. */
  readonly isUnseenBatch?: boolean
}

export interface BodySource {
  readonly bytes: Buffer
  /** "" where the client says none. */
  readonly contentType: string
  /** A piece of a file, as Google's upload protocol has it. */
  readonly isPiece: boolean
}

const AS_IT_IS: StoredBody = { write: () => null }

/** Throws FormatError. */
export function openBody({ collection }: StoredApi, source: BodySource, references: References): StoredBody {
  const { bytes, contentType, isPiece } = source
  if (bytes.length === 0 || isPiece) return AS_IT_IS
  if (isForm(contentType)) return openForm(collection, bytes, contentType, references)
  // A description of a call (RFC 8866).
  if (/^application\/sdp\b/i.test(contentType) && collection === 'realtime/calls') return AS_IT_IS
  const body = references.openBody(parseBody(bytes))
  const isUnseenBatch = collection === 'uploads' && body.purpose === 'batch'
  return { write: (map) => Buffer.from(JSON.stringify(withModels(collection, body, map))), isUnseenBatch }
}

// --- JSON ---

function withModels(collection: string, body: JsonObject, map: MapModel): JsonObject {
  if (collection === 'messages/batches') return withRequests(body, map)
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
  const purpose = singleText(form, 'purpose')
  if (collection === 'files' && purpose === 'batch') return batchFile(readForm(opened, contentType), references)
  const session = collection === 'realtime/calls' ? singleText(form, 'session') : null
  if (session !== null) return { write: (map) => withSession(readForm(opened, contentType), session, map) }
  return { write: () => (opened === bytes ? null : opened) }
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
