/** The shape of the configuration file (spec 2.2): what is allowed where, with defaults and limits. */
import type { Policy } from '#engine/contract/policy.ts'
import { duration } from '#engine/schema/duration.ts'
import {
  addressRange,
  headerName,
  hostname,
  listenAddress,
  port,
  regexSource,
  upstreamAddress
} from '#engine/schema/leaves.ts'
import { shortString, z } from '#engine/schema/schema.ts'
import { protocolProblem } from './later.ts'

/** Listeners per bind, routes per listener and so on: generous, but a limit on everything. */
const LISTENERS_MAX = 256
const ROUTES_MAX = 100_000
const MATCHES_MAX = 64
const BACKENDS_MAX = 256

const absolutePath = () =>
  z
    .string()
    .min(1)
    .max(4096)
    .regex(/^\//, 'must begin with "/"')
    .regex(/^[!-~]*$/, 'must be percent-encoded ASCII without spaces')

/** An object that has exactly one of its optional keys. */
function oneOf<T extends z.ZodRawShape>(shape: T) {
  const names = Object.keys(shape).join(', ')
  return z
    .strictObject(shape)
    .refine(
      (value) => Object.values(value).filter((part) => part !== undefined).length === 1,
      `exactly one of ${names} is required`
    )
    .meta({ minProperties: 1, maxProperties: 1 })
}

const valueMatch = () => oneOf({ exact: z.string().max(4096).optional(), regex: regexSource().optional() })

const match = () =>
  z.strictObject({
    path: oneOf({
      exact: absolutePath().optional(),
      pathPrefix: absolutePath().optional(),
      regex: regexSource().optional()
    }).optional(),
    method: z
      .string()
      .regex(/^[A-Z][A-Z_-]{0,31}$/, 'expected a method in upper case, such as GET')
      .optional(),
    headers: z
      .array(z.strictObject({ name: headerName(), value: valueMatch() }))
      .max(16)
      .optional(),
    query: z
      .array(z.strictObject({ name: z.string().min(1).max(256), value: valueMatch() }))
      .max(16)
      .optional()
  })

/** Policies at one place: every name of the registry and every alias. */
function policySet(policies: readonly Policy[], section: Policy['section'] | 'route') {
  const shape: Record<string, z.ZodType> = {}
  for (const policy of policies) {
    if (section !== 'route' && policy.section !== section) continue
    shape[policy.name] = policy.schema.optional()
    for (const alias of policy.aliases) shape[alias.name] = (alias.schema ?? policy.schema).optional()
  }
  return z.strictObject(shape).optional()
}

const dynamic = () => z.strictObject({ allowAddresses: z.array(addressRange()).max(64).optional() })
const staticHost = () => z.strictObject({ host: shortString(), port: port() })

const BACKEND_KINDS = ['host', 'static', 'dynamic', 'dynamicForwardProxy', 'backend'] as const

function needsOneKind(value: Readonly<Record<string, unknown>>): boolean {
  return BACKEND_KINDS.filter((kind) => value[kind] !== undefined).length === 1
}

const routeBackend = (policies: readonly Policy[]) =>
  z
    .strictObject({
      weight: z.int().min(0).max(1_000_000).optional(),
      host: upstreamAddress().optional(),
      static: staticHost().optional(),
      backend: shortString().optional(),
      dynamic: dynamic().optional(),
      dynamicForwardProxy: dynamic().optional(),
      policies: policySet(policies, 'backend')
    })
    .refine(needsOneKind, `exactly one of ${BACKEND_KINDS.join(', ')} is required`)

const namedBackend = (policies: readonly Policy[]) =>
  z
    .strictObject({
      name: shortString(),
      host: upstreamAddress().optional(),
      static: staticHost().optional(),
      dynamic: dynamic().optional(),
      dynamicForwardProxy: dynamic().optional(),
      policies: policySet(policies, 'backend')
    })
    .refine(needsOneKind, 'exactly one of host, static, dynamic, dynamicForwardProxy is required')

const route = (policies: readonly Policy[]) =>
  z.strictObject({
    name: shortString().optional(),
    hostnames: z.array(hostname()).max(64).optional(),
    matches: z.array(match()).min(1).max(MATCHES_MAX).optional(),
    policies: policySet(policies, 'route'),
    backends: z.array(routeBackend(policies)).max(BACKENDS_MAX).optional()
  })

const listener = (policies: readonly Policy[]) =>
  z.strictObject({
    name: shortString().optional(),
    hostname: hostname().optional(),
    protocol: z.literal('HTTP', { error: (issue) => protocolProblem(issue.input) }).optional(),
    policies: policySet(policies, 'traffic'),
    routes: z.array(route(policies)).max(ROUTES_MAX).optional()
  })

const bind = (policies: readonly Policy[]) =>
  z.strictObject({
    port: port(),
    transport: z.enum(['auto', 'node', 'uws']).optional(),
    listeners: z.array(listener(policies)).min(1).max(LISTENERS_MAX)
  })

const keepalive = () => z.strictObject({ time: duration().optional() })

const frontend = () =>
  z.strictObject({
    http: z
      .strictObject({
        maxBufferSize: z.int().min(1).optional(),
        http1MaxHeaders: z.int().min(1).max(4096).optional(),
        http1IdleTimeout: duration().optional(),
        http1HeaderTimeout: duration().optional(),
        bodyTimeout: duration().optional(),
        sendTimeout: duration().optional(),
        maxHeaderSize: z.int().min(1024).max(61_440).optional(),
        maxUriSize: z.int().min(256).max(61_440).optional(),
        maxRequestBodySize: z.int().min(0).optional()
      })
      .optional(),
    tcp: z.strictObject({ keepalives: keepalive().optional(), keepalive: keepalive().optional() }).optional()
  })

const threads = () =>
  z.union(
    [
      z.int().min(1).max(256),
      z.string().regex(/^(?:[1-9][0-9]?|100)%$/, 'expected a number or a percentage such as "50%"')
    ],
    {
      error: 'expected a number of threads from 1 to 256, or a percentage of the processors such as "50%"'
    }
  )

const processConfig = () =>
  z.strictObject({
    adminAddr: listenAddress().optional(),
    statsAddr: listenAddress().optional(),
    readinessAddr: listenAddress().optional(),
    workerThreads: threads().optional(),
    logging: z
      .strictObject({
        level: z.string().min(1).max(1024).optional(),
        format: z.enum(['text', 'json']).optional()
      })
      .optional(),
    connectionTerminationDeadline: duration().optional(),
    connectionMinTerminationDeadline: duration().optional(),
    backend: z
      .strictObject({
        connectTimeout: duration().optional(),
        poolIdleTimeout: duration().optional(),
        poolMaxSize: z.int().min(1).max(1_000_000).optional(),
        maxRequestsPerConnection: z.int().min(0).optional()
      })
      .optional()
  })

/** The whole file, for the policies of this build. */
export function fileSchema(policies: readonly Policy[]) {
  return z.strictObject({
    config: processConfig().optional(),
    binds: z.array(bind(policies)).min(1).max(1024),
    frontendPolicies: frontend().optional(),
    backends: z.array(namedBackend(policies)).max(10_000).optional()
  })
}

/** A file that has passed the schema. */
export type ConfigFile = z.output<ReturnType<typeof fileSchema>>
