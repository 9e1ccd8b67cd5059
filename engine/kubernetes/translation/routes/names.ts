/** Names in the configuration. Names of objects and namespaces have no "_", and namespaces no ".". */

/** Why requests cannot be sent on: reasons of the condition ResolvedRefs, and those of rules by themselves. */
export type InvalidReason =
  | 'BackendNotFound'
  | 'RefNotPermitted'
  | 'InvalidKind'
  | 'UnsupportedProtocol'
  | 'UnsupportedFilter'
  | 'NoBackendRefs'

/** What an entry of `backends` stands for that is made of its name alone. */
export type NamedBackend =
  | { readonly service: NamedPort<number> }
  /** For connections that are passed on unread, of which nothing of HTTP or TLS is said. Null: of a GatewayBackend. */
  | { readonly stream: NamedPort<number | null> }
  /** An InferencePool. */
  | { readonly pool: Omit<NamedPort<never>, 'port'> }
  /** A port of a Service that picks endpoints of InferencePools. */
  | { readonly picker: NamedPort<number> }
  | { readonly invalid: { readonly reference: string; readonly reason: InvalidReason } }

interface NamedPort<T> {
  readonly namespace: string
  readonly name: string
  readonly port: T
}

/** Of a port of a Service: "demo.shop_8080". */
export const serviceBackendName = (namespace: string, name: string, port: number): string =>
  `${namespace}.${name}_${port}`

/** Of a GatewayBackend: "demo.models". */
export const gatewayBackendName = (namespace: string, name: string): string => `${namespace}.${name}`

const POOL = '_pool'
const PICKER = '_picker'

/** Of an InferencePool: "demo.models_pool". */
export const poolBackendName = (namespace: string, name: string): string => `${namespace}.${name}${POOL}`

/** Of a port of a Service that picks endpoints, which is spoken to in its own way: "demo.picker_9002_picker". */
export const pickerBackendName = (namespace: string, name: string, port: number): string =>
  `${serviceBackendName(namespace, name, port)}${PICKER}`

const STREAM = '_stream'

/** Of a port of a Service ("demo.shop_8080_stream"), or of a GatewayBackend ("demo.database_stream"). */
export const streamBackendName = (backend: string): string => `${backend}${STREAM}`

const INVALID = '_invalid_'

/** Of one that answers 500 in place of what is referred to: "demo.shop_Service_invalid_BackendNotFound". */
export const invalidBackendName = (kind: string, namespace: string, name: string, reason: InvalidReason): string =>
  `${namespace}.${name}_${kind}${INVALID}${reason}`

/** Null: the name is that of a GatewayBackend, which says itself what it is. */
export function namedBackend(text: string): NamedBackend | null {
  const dot = text.indexOf('.')
  const mark = text.indexOf('_')
  if (mark === -1) return null
  const owner = { namespace: text.slice(0, dot), name: text.slice(dot + 1, mark) }
  const rest = text.slice(mark)
  const invalid = rest.indexOf(INVALID)
  if (invalid !== -1) {
    const reason = rest.slice(invalid + INVALID.length) as InvalidReason
    return { invalid: { reference: `${rest.slice(1, invalid)} ${owner.namespace}/${owner.name}`, reason } }
  }
  if (rest === POOL) return { pool: owner }
  if (rest.endsWith(PICKER)) return { picker: { ...owner, port: Number(rest.slice(1, -PICKER.length)) } }
  const isStream = rest.endsWith(STREAM)
  const port = rest.slice(1, isStream ? -STREAM.length : undefined)
  if (!isStream) return { service: { ...owner, port: Number(port) } }
  return { stream: { ...owner, port: port === '' ? null : Number(port) } }
}

/** The port that a name is for. */
export function portOf(named: Exclude<NamedBackend, { readonly invalid: unknown } | { readonly pool: unknown }>) {
  if ('picker' in named) return named.picker
  return 'service' in named ? named.service : named.stream
}

/** The Service whose endpoints a backend of this name needs; null: none. */
export function serviceOf(text: string): { readonly namespace: string; readonly name: string } | null {
  const named = namedBackend(text)
  if (named === null || 'invalid' in named || 'pool' in named) return null
  const { namespace, name, port } = portOf(named)
  return port === null ? null : { namespace, name }
}
