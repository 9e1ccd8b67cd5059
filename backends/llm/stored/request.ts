/** A request for what providers keep, for all providers that may be asked: its ids are opened, its models are known. */
import { FormatError } from '#backends/llm/formats/format.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import { segment } from '#backends/llm/providers/provider.ts'
import { decodedName, modelPathOf } from '#backends/llm/request/model-path.ts'
import { providerModel } from '#backends/llm/request/provider-request.ts'
import type { StoredPath } from './apis.ts'
import { type BodySource, type MapModel, openBody, type StoredBody } from './body.ts'
import { References } from './references.ts'
import { isRawId, type StoredKind } from './seal.ts'
import type { Store, StoreAccess, StoredFacts } from './stores.ts'

export interface StoredSource extends BodySource {
  /** With its question mark, or empty. */
  readonly query: string
}

/** A refusal that is no mistake of form. */
export class StoredRefusal extends FormatError {
  override readonly status: 403 | 404

  constructor(status: 403 | 404, message: string) {
    super('', message)
    this.status = status
  }
}

export class StoredRequest {
  readonly at: StoredPath
  /** Where the ids of the request are; null: it has none, or they do not say. */
  readonly store: Store | null
  readonly body: StoredBody
  readonly #rest: readonly string[]
  readonly #query: string

  /** Throws FormatError. */
  constructor(at: StoredPath, source: StoredSource, access: StoreAccess) {
    const references = new References(access)
    this.at = at
    this.#rest = openPath(at, references)
    this.#query = openQuery(at, source.query, references)
    this.body = openBody(at.api, source, references)
    this.store = references.store
  }

  /** The path behind the version, percent-encoded. */
  path(map: MapModel): string {
    const { collection } = this.at.api
    const rest = collection === 'models' ? modelSegments(this.#rest, map) : this.#rest
    return `/${[collection, ...rest].join('/')}`
  }

  query(map: MapModel): string {
    if (this.#query === '') return this.#query
    // Names can be percent-encoded, too.
    const query = new URLSearchParams(this.#query)
    const model = query.get('model')
    if (model === null) return this.#query
    query.set('model', map(model, 'model'))
    return `?${query}`
  }

  /** All models that are named. Throws FormatError. */
  get models(): readonly string[] {
    const models = new Set<string>()
    const note: MapModel = (model) => {
      models.add(model)
      return model
    }
    this.path(note)
    this.query(note)
    this.body.write(note)
    for (const model of this.body.otherModels ?? []) models.add(model)
    return [...models]
  }
}

/** `:download`, `:cancel` behind a name of Google's. */
const METHOD = /:[A-Za-z]+$/

/** A member, a collection within it, a member of that, a method: "vector_stores/ID/files/ID/content". */
function openPath({ api, rest }: StoredPath, references: References): string[] {
  const { format, collection, kind, methods = [], below = {} } = api
  const [first, sub, member, ...more] = rest
  if (first === undefined || collection === 'models') return [...rest]
  const google = format === 'gemini' ? collection : null
  const opened = [methods.includes(first) ? first : openSegment(first, kind, google, references)]
  if (sub !== undefined) opened.push(plain(sub))
  const memberKind = below[sub ?? '']
  if (member !== undefined) {
    opened.push(memberKind === undefined ? plain(member) : openSegment(member, memberKind, null, references))
  }
  return [...opened, ...more.map(plain)]
}

/** `google`: the collection that is a part of the name; null: ids stand alone. */
function openSegment(text: string, kind: StoredKind, google: string | null, references: References): string {
  const method = google === null ? '' : (METHOD.exec(text)?.[0] ?? '')
  const id = decoded(text.slice(0, text.length - method.length))
  const prefix = google === null ? '' : `${google}/`
  try {
    return segment(references.open(prefix + id, kind, '').slice(prefix.length)) + method
  } catch (error) {
    throw error instanceof FormatError ? new StoredRefusal(404, error.message) : error
  }
}

/** What has no mark: a method, or the id of something within an object. */
const plain = (text: string): string => segment(decoded(text)).replaceAll('%3A', ':')

/** Never a step in a path. */
function decoded(text: string): string {
  const id = decodedName(text)
  if (!isRawId(id) || id.includes('/')) throw new StoredRefusal(404, 'there is nothing with this id')
  return id
}

const CURSORS = ['after', 'before', 'after_id', 'before_id']
/** Of Google's upload protocol. */
const UPLOAD = 'upload_id'

/** Lists go on behind an id of what they list. */
function openQuery({ api, rest }: StoredPath, query: string, references: References): string {
  if (query === '') return query
  const parameters = new URLSearchParams(query)
  const kind = rest.length === 0 ? api.kind : rest.length === 2 ? api.below?.[rest[1]!] : undefined
  const kinds: (readonly [string, StoredKind])[] = [[UPLOAD, 'upload']]
  if (kind !== undefined) kinds.push(...CURSORS.map((name) => [name, kind] as const))
  let isChanged = false
  for (const [name, of] of kinds) {
    const ids = parameters.getAll(name)
    if (ids.length > 1) throw new FormatError(name, 'is there twice')
    if (ids.length === 0 || ids[0] === '') continue
    parameters.set(name, references.open(ids[0]!, of, name))
    isChanged = true
  }
  return isChanged ? `?${parameters}` : query
}

/** "MODEL:batchGenerateContent". */
function modelSegments([text = '', ...more]: readonly string[], map: MapModel): string[] {
  const all = [text, ...more].join('/')
  const found = modelPathOf(`/models/${all}`)
  return found === null ? [all] : [`${segment(map(decodedName(found.name), 'model'))}:${found.method}`]
}

/** Throws FormatError. */
export function factsOf({ store, models, body }: StoredRequest): StoredFacts {
  return {
    tag: store?.tag ?? null,
    models,
    isUnseenBatch: body.isUnseenBatch === true,
    readsAll: body.readsAll === true
  }
}

/** What one provider is sent. Plain data. */
export interface WrittenStored {
  /** Behind the version. */
  readonly path: string
  readonly query: string
  /** Null: the client's own will do. */
  readonly bytes: Uint8Array | null
  /** By the provider's name; null: none is named. */
  readonly model: string | null
}

type ModelTable = Pick<ResolvedProvider, 'aliases' | 'settings' | 'provider'>

/** `isClosed`: as of StoredSettings. Throws FormatError. */
export function writeStored(request: StoredRequest, to: ModelTable, isClosed: boolean): WrittenStored {
  let first: string | null = null
  const map: MapModel = (model, field) => {
    if (isClosed && to.aliases.find(model) === undefined) {
      throw new FormatError(field, `${to.provider.name} does not serve the model ${JSON.stringify(model)} here`)
    }
    const name = providerModel(model, to.settings.model, to.aliases)
    first ??= name
    return name
  }
  const [path, query, bytes] = [request.path(map), request.query(map), request.body.write(map)]
  return { path, query, bytes, model: first }
}
