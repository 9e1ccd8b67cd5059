/**
 * A double of an API server, in process, for tests: lists in pages, watches with bookmarks, conflicts, server-side
 * apply, statuses, TokenReviews; and the faults that a client has to survive. The table of exchanges (exchanges.ts)
 * holds it against a real API server: `npm run conformance -- kubernetes`.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ApiConnection } from '#engine/kubernetes/client/connection.ts'
import { KINDS, type KubernetesObject, type ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { type ApiCall, OTHER_KINDS, readCall } from './call.ts'
import { listAnswer } from './pages.ts'
import type { Tree } from './patches.ts'
import { ApiStore, Refusal, type Write } from './store.ts'
import { ApiWatch, type WatchFault } from './watch.ts'

export interface TokenOwner {
  readonly username: string
  readonly uid?: string
  readonly groups?: readonly string[]
  /** Absent: that of the API server. */
  readonly audiences?: readonly string[]
}

/** Null: the request is served. */
export type Refuse = (call: ApiCall) => { readonly status: number; readonly headers?: Record<string, string> } | null

export class ApiServerDouble {
  readonly store = new ApiStore()
  readonly kinds: Map<string, ObjectKind>
  /** By tokens. Empty: no token is needed. */
  readonly tokens = new Map<string, TokenOwner>()
  /** All that were asked, in order. */
  readonly calls: ApiCall[] = []
  refuse: Refuse = () => null
  /** Of the next watches, one each. */
  readonly watchFaults: WatchFault[] = []
  readonly #watches = new Set<ApiWatch>()
  readonly #waiting = new Set<() => void>()
  #server: Server | null = null
  #port = 0

  constructor() {
    const kinds: readonly ObjectKind[] = [...Object.values(KINDS), ...OTHER_KINDS]
    this.kinds = new Map(kinds.map((kind) => [`${kind.apiVersion}/${kind.plural}`, kind]))
    this.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } })
  }

  /** The same port at every start. */
  async start(): Promise<void> {
    this.#server = createServer((request, response) => void this.#serve(request, response))
    this.#server.keepAliveTimeout = 0
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** As a process that is killed. What is stored stays. */
  async stop(): Promise<void> {
    const server = this.#server
    if (server === null) return
    this.#server = null
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  connection(token: () => string | null = () => null): ApiConnection {
    return {
      url: this.url,
      namespace: null,
      credentials: {
        present: () => ({ authorization: token() === null ? null : `Bearer ${token()}`, tls: {} }),
        refused: () => {}
      }
    }
  }

  /** Puts an object in place, made or replaced, with its status. */
  add(object: KubernetesObject): KubernetesObject {
    const kind = [...this.kinds.values()].find(
      (one) => one.kind === object.kind && one.apiVersion === object.apiVersion
    )!
    const { namespace = '', name } = object.metadata
    if (kind.isNamespaced && !this.store.list(KINDS.Namespace, '').some(({ metadata }) => metadata.name === namespace))
      this.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    const isKnown = this.store.list(kind, namespace).some(({ metadata }) => metadata.name === name)
    const write: Write = { type: 'replace', body: object as unknown as Tree }
    if (isKnown) this.store.write(kind, namespace, name, write, false)
    else this.store.create(kind, namespace, write.body)
    if (object.status !== undefined)
      this.store.write(kind, namespace, name, { type: 'merge', body: { status: object.status } }, true)
    return this.store.get(kind, namespace, name)
  }

  /** Watches that are open. */
  get watches(): ReadonlySet<ApiWatch> {
    return this.#watches
  }

  /** Tells all watches what version was reached. */
  bookmark(): void {
    for (const watch of this.#watches) watch.bookmark()
  }

  /** Resolves when `condition` holds; it is judged after each request. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }

  #happened(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const call = await readCall(request, this.kinds)
      this.calls.push(call)
      const refusal = this.refuse(call)
      if (refusal !== null) {
        response.writeHead(refusal.status, refusal.headers)
        sendStatus(response, refusal.status, 'Refused', 'refused by the test')
      } else this.#answer(call, response)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      sendStatus(response, error.code, error.reason, error.message)
    }
    this.#happened()
  }

  #answer(call: ApiCall, response: ServerResponse): void {
    if (this.tokens.size > 0 && !this.tokens.has(call.token)) throw new Refusal(401, 'Unauthorized', 'Unauthorized')
    if (call.name === '' && call.query.get('watch') === 'true') this.#watch(call, response)
    else send(response, ...this.#answerOf(call))
  }

  #answerOf(call: ApiCall): readonly [status: number, body: unknown] {
    const { kind, method, namespace, name } = call
    if (kind.kind === 'TokenReview') return [201, this.#reviewed(call.body)]
    if (name === '' && method === 'GET') return [200, listAnswer(this.store, call)]
    if (name === '' && method === 'POST') return [201, this.store.create(kind, namespace, call.body)]
    if (name === '') throw new Refusal(405, 'MethodNotAllowed', 'the server does not allow this method')
    if (method === 'GET') return [200, this.store.get(kind, namespace, name)]
    if (method === 'DELETE') return [200, this.store.delete(kind, namespace, name)]
    const isNew = !this.store.list(kind, namespace).some(({ metadata }) => metadata.name === name)
    const object = this.store.write(kind, namespace, name, writeOf(call), call.subresource === 'status')
    return [isNew ? 201 : 200, object]
  }

  #watch(call: ApiCall, response: ServerResponse): void {
    const watch = new ApiWatch(this.store, call, response, this.watchFaults.shift() ?? {})
    this.#watches.add(watch)
    response.on('close', () => {
      watch.end()
      this.#watches.delete(watch)
      this.#happened()
    })
  }

  #reviewed(body: Tree): unknown {
    const { token = '', audiences = [] } = body.spec as {
      readonly token?: string
      readonly audiences?: readonly string[]
    }
    const owner = this.tokens.get(token)
    const valid = audiences.filter((audience) => owner?.audiences?.includes(audience))
    const isMeant = owner !== undefined && (audiences.length === 0 ? owner.audiences === undefined : valid.length > 0)
    const { username, uid = '', groups = [] } = owner ?? {}
    const status = isMeant
      ? { authenticated: true, user: { username, uid, groups }, audiences: valid }
      : { error: 'invalid bearer token' }
    return { ...body, status }
  }
}

function writeOf({ method, type, body, query }: ApiCall): Write {
  if (method === 'PUT') return { type: 'replace', body }
  if (type === 'application/merge-patch+json') return { type: 'merge', body }
  if (type !== 'application/apply-patch+yaml')
    throw new Refusal(415, 'UnsupportedMediaType', `the body of the request was in an unknown format: ${type}`)
  const manager = query.get('fieldManager')
  if (manager === null)
    throw new Refusal(422, 'Invalid', 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value')
  return { type: 'apply', body, manager }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

function sendStatus(response: ServerResponse, code: number, reason: string, message: string): void {
  if (!response.headersSent) response.writeHead(code, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message, reason, code }))
}
