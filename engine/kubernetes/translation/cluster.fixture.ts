/** Objects of a small cluster, and a translator with the registries of the program. */
import { backends } from '#backends/index.ts'
import { type Prepared, prepareBackends } from '#engine/build/prepare.ts'
import { KINDS, type KindName, type KubernetesObject, objectKey } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import type { Raw } from '#engine/schema/placed.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import { policies } from '#policies/index.ts'
import { type Translation, Translator, type TranslatorOptions } from './index.ts'
import type { Condition } from './parts.ts'

export const NAMESPACE = 'demo'

export function object(kind: KindName, name: string, fields: object, metadata: object = {}): KubernetesObject {
  const { apiVersion, isNamespaced } = KINDS[kind]
  const owner = isNamespaced ? { namespace: NAMESPACE } : {}
  return { apiVersion, kind, metadata: { name, ...owner, generation: 1, ...metadata }, ...fields }
}

export const CLASS = object('GatewayClass', 'weir', { spec: { controllerName: 'weir.dev/gateway-controller' } })

export const gateway = (name: string, listeners: readonly Raw[], spec: Raw = {}, metadata: object = {}) =>
  object('Gateway', name, { spec: { gatewayClassName: 'weir', listeners, ...spec } }, metadata)

export const http = (name: string, port: number, more: Raw = {}): Raw => ({ name, port, protocol: 'HTTP', ...more })

export const listenerSet = (name: string, parent: string, listeners: readonly Raw[], metadata: object = {}) =>
  object('ListenerSet', name, { spec: { parentRef: { name: parent }, listeners } }, metadata)

export const httpRoute = (name: string, parent: Raw | string, rules: readonly Raw[], spec: Raw = {}, metadata = {}) => {
  const parentRefs = [typeof parent === 'string' ? { name: parent } : parent]
  return object('HTTPRoute', name, { spec: { parentRefs, rules, ...spec } }, metadata)
}

/** A rule for a path and all below it, to a port of a Service. */
export const rule = (path: string, service: string, port = 80, more: Raw = {}): Raw => ({
  matches: [{ path: { type: 'PathPrefix', value: path } }],
  backendRefs: [{ name: service, port }],
  ...more
})

export const service = (name: string, port = 80, metadata: object = {}) =>
  object('Service', name, { spec: { ports: [{ port }] } }, metadata)

export const secret = (name: string, entries: Readonly<Record<string, string>>, metadata: object = {}) => {
  const data = Object.entries(entries).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
  return object('Secret', name, { data: Object.fromEntries(data) }, { generation: undefined, ...metadata })
}

export const policy = (name: string, spec: Raw, metadata: object = {}) =>
  object('GatewayPolicy', name, { spec }, metadata)

/** What an HTTPRoute is as a target of a policy. */
export const target = (kind: KindName, name: string, more: Raw = {}): Raw => ({
  group: KINDS[kind].apiVersion.split('/')[0]!,
  kind,
  name,
  ...more
})

export const OPTIONS: TranslatorOptions = {
  policies,
  backends,
  env: {},
  processors: 2,
  memoryBytes: 1024 * 1024 * 1024,
  readYaml: () => null,
  prepare: (draft, warn): Prepared<SnapshotDraft> => prepareBackends(draft, backends, warn)
}

export const translate = (...objects: readonly KubernetesObject[]): Translation =>
  new Translator(OPTIONS).update(ObjectStore.of([CLASS, ...objects]), null)

export const draftOf = ({ gateways }: Translation, name = 'edge'): SnapshotDraft =>
  gateways.get(`${NAMESPACE}/${name}`)!.draft

interface Status {
  readonly conditions?: readonly Condition[]
  readonly listeners?: readonly (Status & { readonly name: string; readonly attachedRoutes: number })[]
  readonly parents?: readonly Status[]
  readonly ancestors?: readonly Status[]
  readonly attachedListenerSets?: number
}

export const statusOf = ({ statuses }: Translation, kind: KindName, name: string, namespace?: string): Status =>
  (statuses.get(objectKey(kind, namespace ?? (KINDS[kind].isNamespaced ? NAMESPACE : ''), name)) ?? {}) as Status

/** "Accepted=True Accepted" of each condition. */
export const conditionTexts = ({ conditions = [] }: Status = {}): string[] =>
  conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`)

/** Conditions of the first parent of a route. */
export const parentTexts = (translation: Translation, name: string, kind: KindName = 'HTTPRoute'): string[] =>
  conditionTexts(statusOf(translation, kind, name).parents?.[0])
