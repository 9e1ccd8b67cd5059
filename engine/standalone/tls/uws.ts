/** What of TLS in the file is beyond uWebSockets.js (engine/http/limits.ts), for binds with transport uws. */
import { type Beyond, listenerBeyondUws, tlsBeyondUws } from '#engine/http/limits.ts'
import { objectOf, type PlacedListener, type Raw, text } from '#engine/standalone/walk.ts'
import { frontendTlsSchema, translateFrontendTls, versionsOf } from './schema.ts'

interface Fault {
  readonly place: string
  readonly message: string
}

/** `frontend`: frontendPolicies.tls as read; one with mistakes is left to those who tell of them. */
export function uwsFaults(frontend: Raw, listeners: readonly PlacedListener[]): Fault[] {
  const read = Object.keys(frontend).length === 0 ? undefined : frontendTlsSchema.safeParse(frontend)
  const settings = read?.success === false ? null : translateFrontendTls(read?.data)
  const ofAll =
    settings === null ? [] : tlsBeyondUws(settings).map(faultOf('frontendPolicies.tls', Object.keys(frontend)))
  return [...ofAll, ...listeners.flatMap(ofListener)]
}

function faultOf(place: string, given: readonly string[]) {
  return ({ key, value, fact }: Beyond): Fault => {
    const isDefault = !given.includes(key) && !key.includes('version')
    return { place: `${isDefault ? 'the default ' : ''}${place} ${key} (${value})`, message: fact }
  }
}

function ofListener({ raw, name }: PlacedListener): Fault[] {
  const tls = objectOf(raw.tls)
  const { min, max } = versionsOf(tls)
  const limits = {
    minVersion: min,
    maxVersion: max,
    cipherSuites: Array.isArray(tls.cipherSuites) ? tls.cipherSuites.map(String) : null,
    clientCa: tls.root === undefined ? null : 'given'
  }
  const listener = { protocol: 'HTTPS', hostname: text(raw.hostname) ?? '*', tls: limits }
  return listenerBeyondUws(listener).map(faultOf(`listener ${name}`, [...Object.keys(tls), 'hostname']))
}
