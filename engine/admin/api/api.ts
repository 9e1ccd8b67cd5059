/** Finds the Operation of a request, checks what all of them have in common, and answers. */

import type { Reply, Request } from '#engine/admin/server.ts'
import { parseJson } from '#engine/kit/json.ts'
import { wordHint } from '#engine/schema/suggest.ts'
import { API_PATH, type Call, type Method, type Operation, refusal } from './operation.ts'

/** Operations of one path, by method. */
interface Place {
  readonly parts: readonly string[]
  readonly methods: Map<string, Operation>
}

export class Api {
  readonly #places: readonly Place[]

  constructor(operations: readonly Operation[]) {
    const places = new Map<string, Place>()
    for (const operation of operations) {
      const place = places.get(operation.path) ?? { parts: partsOf(operation.path), methods: new Map() }
      place.methods.set(operation.method, operation)
      places.set(operation.path, place)
    }
    this.#places = [...places.values()]
  }

  /** Longest body of a request, in bytes; undefined: the path has none. */
  bodyBytesMax(path: string): number | undefined {
    const found = this.#find(path)
    if (found === null) return undefined
    const bounds = [...found.place.methods.values()].flatMap(({ body }) => (body === undefined ? [] : [body.bytesMax]))
    return bounds.length === 0 ? undefined : Math.max(...bounds)
  }

  /** What a request asks for; null: nothing that there is. */
  operationOf({ path, method }: Pick<Request, 'path' | 'method'>): Operation | null {
    return this.#find(path)?.place.methods.get((method === 'HEAD' ? 'GET' : method) as Method) ?? null
  }

  /** Null: the path is not of this API. */
  async answer(request: Request): Promise<Reply | null> {
    const { path, method } = request
    if (path !== API_PATH && !path.startsWith(`${API_PATH}/`)) return null
    const found = this.#find(path)
    if (found === null) return refusal(404, 'NOT_FOUND', `there is no such path; ${API_PATH}/openapi.json lists all`)
    const { methods } = found.place
    const operation = methods.get(method === 'HEAD' ? 'GET' : method)
    if (operation === undefined) return notAllowed([...methods.keys()] as Method[])
    const wrong = wrongParameter(operation, request.query)
    if (wrong !== null) return wrong
    const body = await bodyOf(operation, request)
    if ('refused' in body) return body.refused
    return await operation.answer({ request, names: found.names, body: body.value })
  }

  #find(path: string): { readonly place: Place; readonly names: Call['names'] } | null {
    if (!path.startsWith(`${API_PATH}/`)) return null
    const parts = partsOf(path.slice(API_PATH.length))
    let found: { place: Place; names: Call['names'] } | null = null
    for (const place of this.#places) {
      const names = namesOf(place.parts, parts)
      if (names === null) continue
      // A path without names is nearer: "/keys/rotate" would be no key.
      if (Object.keys(names).length === 0) return { place, names }
      found ??= { place, names }
    }
    return found
  }
}

const partsOf = (path: string): readonly string[] => path.slice(1).split('/')

/** Null: another path. */
function namesOf(wanted: readonly string[], parts: readonly string[]): Record<string, string> | null {
  if (wanted.length !== parts.length) return null
  const names: Record<string, string> = {}
  for (const [i, want] of wanted.entries()) {
    const part = parts[i]!
    if (!want.startsWith('{')) {
      if (want !== part) return null
      continue
    }
    const value = decoded(part)
    if (value === null || value === '') return null
    names[want.slice(1, -1)] = value
  }
  return names
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part)
  } catch {
    return null
  }
}

function wrongParameter({ query = {} }: Operation, params: URLSearchParams): Reply | null {
  const known = Object.keys(query)
  for (const name of params.keys()) {
    if (Object.hasOwn(query, name)) continue
    const shown = name.slice(0, 64)
    const listed = known.length === 0 ? 'it takes none' : `there are ${known.join(', ')}`
    return refusal(400, 'INVALID', `there is no such parameter; ${wordHint(shown, known) ?? listed}`, shown)
  }
  return null
}

async function bodyOf(
  { method, body }: Operation,
  request: Request
): Promise<{ readonly value: unknown } | { readonly refused: Reply }> {
  // What a form of another site can send has another type; so may nothing change that has none.
  const isJson = /^application\/json(?:\s*;|$)/i.test(request.headers['content-type'] ?? '')
  if (method !== 'GET' && method !== 'DELETE' && !isJson)
    return { refused: refusal(415, 'UNSUPPORTED_MEDIA_TYPE', 'this call needs content-type: application/json') }
  if (body === undefined) return { value: undefined }
  const text = (await request.body()).toString()
  const value = text === '' && body.isOptional === true ? {} : parseJson(text)
  return value === undefined ? { refused: refusal(400, 'INVALID', 'the body must be JSON') } : { value }
}

function notAllowed(methods: readonly Method[]): Reply {
  const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
  return { ...refusal(405, 'METHOD_NOT_ALLOWED', `use ${allow}`), headers: { allow } }
}
