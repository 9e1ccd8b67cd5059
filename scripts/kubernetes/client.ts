/** Asks an API server; for tests. */
import { Agent, request } from 'undici'

export interface ApiObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [key: string]: unknown }
  readonly [key: string]: unknown
}

export interface Answer {
  readonly status: number
  /** An object, a list, or a Status that says why not. */
  readonly body: ApiObject & { readonly message?: string; readonly items?: readonly ApiObject[] }
}

interface Options {
  readonly body?: unknown
  readonly type?: string
  /** Of the answer; absent: an object as it is. */
  readonly accept?: string
}

export class ApiClient {
  readonly #origin: string
  readonly #token: string
  readonly #agent: Agent

  /** `ca`: PEM. */
  constructor(origin: string, ca: string, token: string) {
    this.#origin = origin
    this.#token = token
    this.#agent = new Agent({ connect: { ca } })
  }

  async ask(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, options: Options = {}): Promise<Answer> {
    const { body, type = 'application/json', accept = 'application/json' } = options
    const answer = await request(`${this.#origin}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${this.#token}`, accept, 'content-type': type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await answer.body.text()
    const isJson = String(answer.headers['content-type'] ?? '').startsWith('application/json')
    return { status: answer.statusCode, body: (isJson ? JSON.parse(text) : { message: text }) as Answer['body'] }
  }

  /** `plural`: as in paths; `query`: further parameters. What is not known is refused, as kubectl does. */
  create(object: ApiObject, plural: string, query = ''): Promise<Answer> {
    return this.ask('POST', `${collection(object, plural)}?fieldValidation=Strict${query}`, { body: object })
  }

  get(object: ApiObject, plural: string): Promise<Answer> {
    return this.ask('GET', `${collection(object, plural)}/${object.metadata.name}`)
  }

  /** Server-side apply. */
  apply(object: ApiObject, plural: string): Promise<Answer> {
    const path = `${collection(object, plural)}/${object.metadata.name}`
    const type = 'application/apply-patch+yaml'
    return this.ask('PATCH', `${path}?fieldManager=weir-tests&force=true&fieldValidation=Strict`, {
      body: object,
      type
    })
  }

  /** Merges `status` into that of the object. */
  patchStatus(object: ApiObject, plural: string, status: unknown): Promise<Answer> {
    const path = `${collection(object, plural)}/${object.metadata.name}/status`
    return this.ask('PATCH', path, { body: { status }, type: 'application/merge-patch+json' })
  }

  close(): Promise<void> {
    return this.#agent.close()
  }
}

function collection({ apiVersion, metadata: { namespace } }: ApiObject, plural: string): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  return `${group}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`
}
