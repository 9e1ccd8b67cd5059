/** What the controller asks an API server for. */
import { SYSTEM_TIME, type Time } from '#engine/contract/time.ts'
import type { KubernetesObject, ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { ApiError } from './api-error.ts'
import type { ApiConnection } from './connection.ts'
import { AnswerTooLong, type ApiRequest, Transport } from './transport.ts'
import { followWatch, type WatchEnd, type WatchOptions } from './watch.ts'

export interface Scope {
  /** Absent: all of the cluster. */
  readonly namespace?: string
  /** "app=shop,tier!=test". */
  readonly labelSelector?: string
}

export interface ObjectList {
  readonly items: readonly KubernetesObject[]
  /** Where a watch of what changes after it begins. */
  readonly resourceVersion: string
}

export interface ApplyOptions {
  /** Owner of the fields that are written. */
  readonly fieldManager: string
  /** Takes fields that others own; default: true. */
  readonly force?: boolean
}

export interface TokenReview {
  readonly authenticated: boolean
  /** "system:serviceaccount:NAMESPACE:NAME". */
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  /** Of those that were asked for; the token is for one of them. */
  readonly audiences: readonly string[]
  /** Why not. */
  readonly error: string
}

const PAGE_OBJECTS = 500
/** Of one page: 500 objects of 1.5 MiB, which etcd takes, would be too much to hold at once. */
const PAGE_BYTES_MAX = 64 * 2 ** 20
/** Of a list that cannot come in pages. A string of V8 ends at twice as much. */
const WHOLE_BYTES_MAX = 256 * 2 ** 20

export interface ClientOptions {
  readonly time?: Time
  readonly pageBytesMax?: number
}

export class KubernetesClient {
  readonly #transport: Transport
  readonly #pageBytesMax: number

  constructor(connection: ApiConnection, { time = SYSTEM_TIME, pageBytesMax = PAGE_BYTES_MAX }: ClientOptions = {}) {
    this.#transport = new Transport(connection, time)
    this.#pageBytesMax = pageBytesMax
  }

  /** Any request, for what has no method here. The answer, parsed; throws an ApiError for one that is no success. */
  ask(request: ApiRequest): Promise<unknown> {
    return this.#transport.ask(request)
  }

  /**
   * All objects of one version, in pages; in one piece when a page has come too late for its version. Throws an
   * ApiError: 404 when there is no such kind.
   */
  async list(kind: ObjectKind, scope: Scope = {}, signal?: AbortSignal): Promise<ObjectList> {
    try {
      return await this.#listInPages(kind, scope, signal)
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isExpired) throw error
      const { items, resourceVersion } = await this.#page(kind, scope, {}, WHOLE_BYTES_MAX, signal)
      return { items, resourceVersion }
    }
  }

  async #listInPages(kind: ObjectKind, scope: Scope, signal: AbortSignal | undefined): Promise<ObjectList> {
    const items: KubernetesObject[] = []
    let limit = PAGE_OBJECTS
    let next = ''
    for (;;) {
      const query = { limit: `${limit}`, ...(next === '' ? {} : { continue: next }) }
      try {
        const page = await this.#page(kind, scope, query, this.#pageBytesMax, signal)
        items.push(...page.items)
        if (page.next === '') return { items, resourceVersion: page.resourceVersion }
        next = page.next
      } catch (error) {
        if (!(error instanceof AnswerTooLong) || limit === 1) throw error
        limit = Math.ceil(limit / 4)
      }
    }
  }

  async #page(
    kind: ObjectKind,
    scope: Scope,
    query: Readonly<Record<string, string>>,
    bytesMax: number,
    signal: AbortSignal | undefined
  ) {
    const path = pathOf(kind, scope.namespace, '', { ...query, ...selectorOf(scope) })
    const request: ApiRequest = { method: 'GET', path, bytesMax, ...(signal === undefined ? {} : { signal }) }
    return readPage(kind, await this.#transport.ask(request))
  }

  /** Follows what changes after `options.resourceVersion`. Throws an ApiError or another Error as list does. */
  watch(kind: ObjectKind, scope: Scope, options: WatchOptions): Promise<WatchEnd> {
    return followWatch(
      this.#transport,
      kind,
      (query) => pathOf(kind, scope.namespace, '', { ...query, ...selectorOf(scope) }),
      options
    )
  }

  /** Null: there is none. `namespace`: empty for objects of the cluster. */
  async get(kind: ObjectKind, namespace: string, name: string): Promise<KubernetesObject | null> {
    try {
      return (await this.#transport.ask({ method: 'GET', path: pathOf(kind, namespace, name) })) as KubernetesObject
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) return null
      throw error
    }
  }

  /** Server-side apply: makes the object, or changes of it what `object` says. */
  async apply(kind: ObjectKind, object: KubernetesObject, options: ApplyOptions): Promise<KubernetesObject> {
    const query = { fieldManager: options.fieldManager, force: `${options.force ?? true}` }
    const type = 'application/apply-patch+yaml'
    const path = pathOf(kind, object.metadata.namespace, object.metadata.name, query)
    return (await this.#transport.ask({ method: 'PATCH', path, body: object, type })) as KubernetesObject
  }

  /** Merges `status` into that of the object; lists are replaced. With its resource version: only into this version. */
  async patchStatus(
    kind: ObjectKind,
    { metadata: { namespace, name, resourceVersion } }: Pick<KubernetesObject, 'metadata'>,
    status: unknown
  ): Promise<KubernetesObject> {
    const body = { ...(resourceVersion === undefined ? {} : { metadata: { resourceVersion } }), status }
    const path = `${pathOf(kind, namespace, name)}/status`
    const type = 'application/merge-patch+json'
    return (await this.#transport.ask({ method: 'PATCH', path, body, type })) as KubernetesObject
  }

  /** Throws an ApiError of 409 when there is one of that name. */
  async create(kind: ObjectKind, object: KubernetesObject): Promise<KubernetesObject> {
    const path = pathOf(kind, object.metadata.namespace)
    return (await this.#transport.ask({ method: 'POST', path, body: object })) as KubernetesObject
  }

  /** With its resource version: throws an ApiError of 409 when it has changed since. */
  async replace(kind: ObjectKind, object: KubernetesObject): Promise<KubernetesObject> {
    const path = pathOf(kind, object.metadata.namespace, object.metadata.name)
    return (await this.#transport.ask({ method: 'PUT', path, body: object })) as KubernetesObject
  }

  /** With what it owns, in the background. False: there was none. */
  async delete(kind: ObjectKind, namespace: string, name: string): Promise<boolean> {
    const path = pathOf(kind, namespace, name)
    try {
      await this.#transport.ask({ method: 'DELETE', path, body: { propagationPolicy: 'Background' } })
      return true
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) return false
      throw error
    }
  }

  /** Whose token it is. `audiences`: it must be for one of them; none: for the API server itself. */
  async reviewToken(token: string, audiences: readonly string[] = []): Promise<TokenReview> {
    const spec = { token, ...(audiences.length === 0 ? {} : { audiences }) }
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec }
    const path = '/apis/authentication.k8s.io/v1/tokenreviews'
    const { status = {} } = (await this.#transport.ask({ method: 'POST', path, body })) as TokenReviewAnswer
    const { authenticated = false, user = {}, audiences: valid = [], error = '' } = status
    const { username = '', uid = '', groups = [] } = user
    return { authenticated, username, uid, groups, audiences: valid, error }
  }

  close(): void {
    this.#transport.close()
  }
}

interface TokenReviewAnswer {
  readonly status?: {
    readonly authenticated?: boolean
    readonly user?: { readonly username?: string; readonly uid?: string; readonly groups?: readonly string[] }
    readonly audiences?: readonly string[]
    readonly error?: string
  }
}

/** Path of a collection; with a name, of an object. */
export function pathOf(
  { apiVersion, plural, isNamespaced }: ObjectKind,
  namespace = '',
  name = '',
  query: Readonly<Record<string, string>> = {}
): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const scope = isNamespaced && namespace !== '' ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  const parameters = new URLSearchParams(query).toString()
  const object = name === '' ? '' : `/${encodeURIComponent(name)}`
  return `${group}${scope}/${plural}${object}${parameters === '' ? '' : `?${parameters}`}`
}

const selectorOf = ({ labelSelector }: Scope) => (labelSelector === undefined ? {} : { labelSelector })

interface ListAnswer {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string }
  readonly items?: readonly KubernetesObject[] | null
}

/** Items of kinds that are built in come without their kind. */
function readPage({ apiVersion, kind }: ObjectKind, body: unknown) {
  const { metadata: { resourceVersion = '', continue: next = '' } = {}, items } = body as ListAnswer
  return { resourceVersion, next, items: (items ?? []).map((item) => ({ ...item, apiVersion, kind })) }
}
