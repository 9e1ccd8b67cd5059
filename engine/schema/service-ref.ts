/** How policies name the service that they ask: a backend of the file, or a server written in place. */
import { exactlyOne } from './choice.ts'
import { target } from './net.ts'
import { fullName, says, z } from './schema.ts'
import { inResources, onlyInFiles } from './spelling.ts'

const KINDS = ['Backend', 'GatewayBackend', 'AgentgatewayBackend'] as const
const GROUPS = ['', 'weir.dev', 'agentgateway.dev'] as const

/** A key of a reference of the resource API that says nothing in a file. */
const nowhere = (why: string) => z.never({ error: why }).optional()

/** BackendObjectReference, as far as a file has backends to refer to. */
export const backendRef = () =>
  inResources(
    z.strictObject({
      name: fullName().describe('Of one of the backends at the top of the file.'),
      kind: z
        .enum(KINDS, { error: says('must be Backend (or GatewayBackend): a file has no other objects to refer to') })
        .optional(),
      group: z.enum(GROUPS, { error: says('must be weir.dev, or left out') }).optional(),
      namespace: nowhere('a file has no namespaces: leave it out'),
      port: nowhere('the backend says its port: leave it out')
    }),
    'BackendObjectReference'
  )

/** Fields of a policy that asks a service: spread into its schema, and read by `serviceOf`. */
export const serviceFields = {
  backendRef: backendRef().optional().describe('The service: a backend, with its own backend policies.'),
  backend: onlyInFiles(fullName().optional()).describe('The same by the name alone.'),
  host: onlyInFiles(target().optional()).describe('The service as "host:port", "[address]:port" or "unix:/path".')
}

type ServiceFields = {
  readonly [K in keyof typeof serviceFields]?: z.output<(typeof serviceFields)[K]>
}

/** Refuses an object with none of `serviceFields`, or with several. */
export const namesService = () => exactlyOne(Object.keys(serviceFields))

/**
 * What validated `serviceFields` name. The types: engine/contract/service.ts, ServiceRef. `at`: where the fields stand
 * in the value of the policy.
 */
export function serviceOf({ backendRef: reference, backend, host }: ServiceFields, at: readonly PropertyKey[] = []) {
  if (reference !== undefined) return { name: reference.name, at: [...at, 'backendRef', 'name'] }
  if (backend !== undefined) return { name: backend, at: [...at, 'backend'] }
  const { host: address, port, unixPath } = host!
  return { host: address, port, unixPath }
}
