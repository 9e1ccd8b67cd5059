/** What a request asks an API server for. */
import type { IncomingMessage } from 'node:http'
import type { ObjectKind } from '#engine/kubernetes/objects/object.ts'
import type { Tree } from './patches.ts'
import { Refusal } from './store.ts'

export interface ApiCall {
  readonly method: string
  readonly kind: ObjectKind
  readonly namespace: string
  readonly name: string
  /** "status", or empty. */
  readonly subresource: string
  readonly query: URLSearchParams
  readonly type: string
  readonly token: string
  readonly body: Tree
}

const kind = (apiVersion: string, name: string, plural: string, isNamespaced = true): ObjectKind => ({
  apiVersion,
  kind: name,
  plural,
  isNamespaced
})

/** What the controller writes beside the kinds that it watches, and pods. */
export const OTHER_KINDS: readonly ObjectKind[] = [
  kind('coordination.k8s.io/v1', 'Lease', 'leases'),
  kind('apps/v1', 'Deployment', 'deployments'),
  kind('v1', 'ServiceAccount', 'serviceaccounts'),
  kind('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  kind('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'),
  kind('v1', 'Pod', 'pods'),
  kind('authentication.k8s.io/v1', 'TokenReview', 'tokenreviews', false)
]

const PATH =
  /^\/(?:api|apis)\/((?:[^/]+\/)?v[^/]+)\/(?:namespaces\/([^/]+)\/(?!status$))?([^/]+)(?:\/([^/]+))?(?:\/(status))?$/

/** Throws a Refusal for what is no path of the API. */
export async function readCall(request: IncomingMessage, kinds: ReadonlyMap<string, ObjectKind>): Promise<ApiCall> {
  const url = new URL(request.url ?? '', 'http://api')
  const [, apiVersion = '', namespace = '', plural = '', name = '', subresource = ''] = PATH.exec(url.pathname) ?? []
  const known = kinds.get(`${apiVersion}/${plural}`)
  const text = (await request.toArray()).join('')
  if (known === undefined) throw new Refusal(404, 'NotFound', 'the server could not find the requested resource')
  return {
    method: request.method ?? '',
    kind: known,
    namespace,
    name: decodeURIComponent(name),
    subresource,
    query: url.searchParams,
    type: request.headers['content-type'] ?? '',
    token: request.headers.authorization?.replace(/^Bearer /, '') ?? '',
    body: text === '' ? {} : (JSON.parse(text) as Tree)
  }
}
