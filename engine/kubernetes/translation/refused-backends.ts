/** Backends that answer 500, in place of those that are refused. */
import type { BackendRecord } from './compile/records.ts'

/** For what a policy should act on that cannot. No resource has such a name. */
export const CLOSED_BACKEND = 'weir_closed'

const refused = (name: string, reference: string, reason: string): BackendRecord => ({
  name,
  entry: { value: { name, invalid: { reference, reason } }, origins: [], contents: [], services: [] },
  backends: [],
  secrets: []
})

export const CLOSED: BackendRecord = refused(CLOSED_BACKEND, 'a GatewayPolicy of the request', 'Invalid')

/** `name`: of a GatewayBackend, "demo.models", or of a port of a Service. */
export function refusedBackend(name: string): BackendRecord {
  const [namespace = '', ...rest] = name.split('.')
  return refused(name, `backend ${namespace}/${rest.join('.')}`, 'Invalid')
}
