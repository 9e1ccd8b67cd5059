/** Names in the configuration. Names of objects and namespaces have no "_", and namespaces no ".". */

/** Why a reference cannot be followed; the reasons of the condition ResolvedRefs. */
export const REFERENCE_REASONS = ['BackendNotFound', 'RefNotPermitted', 'InvalidKind', 'UnsupportedProtocol'] as const
export type ReferenceReason = (typeof REFERENCE_REASONS)[number]

/** What an entry of `backends` that is made of a name stands for. */
export type NamedBackend =
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port: number } }
  | { readonly invalid: { readonly reference: string; readonly reason: ReferenceReason } }

/** Of a port of a Service: "demo.shop_8080". */
export const serviceBackendName = (namespace: string, name: string, port: number): string =>
  `${namespace}.${name}_${port}`

/** Of a GatewayBackend: "demo.models". */
export const gatewayBackendName = (namespace: string, name: string): string => `${namespace}.${name}`

const INVALID = '_invalid_'

/** Of a backend that answers 500, as it cannot be reached: "demo.shop_Service_invalid_BackendNotFound". */
export const invalidBackendName = (kind: string, namespace: string, name: string, reason: ReferenceReason): string =>
  `${namespace}.${name}_${kind}${INVALID}${reason}`

/** Null: the name is that of a GatewayBackend. */
export function namedBackend(text: string): NamedBackend | null {
  const [namespace = '', ...rest] = text.split('.')
  const own = rest.join('.')
  const at = own.indexOf('_')
  if (at === -1) return null
  const name = own.slice(0, at)
  const invalid = own.indexOf(INVALID, at)
  if (invalid === -1) return { service: { namespace, name, port: Number(own.slice(at + 1)) } }
  const kind = own.slice(at + 1, invalid)
  const reason = own.slice(invalid + INVALID.length) as ReferenceReason
  return { invalid: { reference: `${kind} ${namespace}/${name}`, reason } }
}
