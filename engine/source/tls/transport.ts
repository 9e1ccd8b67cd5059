/** What of TLS the transport of a bind could not honour. */
import type { ListenerFacts, SettingFault, TransportCapabilities } from '#engine/contract/transport-capabilities.ts'
import { objectOf, type Raw, text } from '#engine/schema/placed.ts'
import type { PlacedListener } from '#engine/source/tree.ts'
import { frontendTlsSchema, translateFrontendTls, versionsOf } from './schema.ts'

interface Fault {
  readonly place: string
  readonly message: string
}

/** `frontend`: frontendPolicies.tls as read; one with mistakes is left to those who tell of them. */
export function transportFaults(
  { tlsFaults, listenerFaults }: TransportCapabilities,
  frontend: Raw,
  listeners: readonly PlacedListener[]
): Fault[] {
  const read = Object.keys(frontend).length === 0 ? undefined : frontendTlsSchema.safeParse(frontend)
  const settings = read?.success === false ? null : translateFrontendTls(read?.data)
  const ofAll = settings === null ? [] : tlsFaults(settings).map(faultOf('frontendPolicies.tls', Object.keys(frontend)))
  const ofEach = listeners.flatMap((listener) => {
    const keys = [...Object.keys(objectOf(listener.raw.tls)), 'hostname']
    return listenerFaults(factsOf(listener)).map(faultOf(`listener ${listener.name}`, keys))
  })
  return [...ofAll, ...ofEach]
}

function faultOf(place: string, keys: readonly string[]) {
  return ({ key, value, fact }: SettingFault): Fault => {
    const isDefault = !keys.includes(key) && !key.includes('version')
    return { place: `${isDefault ? 'the default ' : ''}${place} ${key} (${value})`, message: fact }
  }
}

function factsOf({ raw }: PlacedListener): ListenerFacts {
  const tls = objectOf(raw.tls)
  const { min, max } = versionsOf(tls)
  const limits = {
    minVersion: min,
    maxVersion: max,
    cipherSuites: Array.isArray(tls.cipherSuites) ? tls.cipherSuites.map(String) : null,
    clientCa: tls.root === undefined ? null : 'given',
    hasSeveralCertificates: tls.additionalCertificates !== undefined
  }
  return { hostname: text(raw.hostname) ?? '*', tls: limits }
}
