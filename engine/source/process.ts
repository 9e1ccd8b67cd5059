/** `config`: settings that are read once, at start. Environment variables win over what a source says. */
import type { Policy } from '#engine/contract/policy.ts'
import type { ProcessSettings } from '#engine/ir/snapshot.ts'
import { duration, positiveDuration } from '#engine/schema/duration.ts'
import { address, cidr } from '#engine/schema/net.ts'
import { list, refusedKeys, says, whole, type ZodType, z } from '#engine/schema/schema.ts'
import { threadCount, threads } from '#engine/schema/threads.ts'
import { adminSchema, translateAdmin } from './admin.ts'
import { spendLogSchema, translateSpendLog } from './spend-log.ts'
import { stateSchema, translateState } from './state.ts'
import type { Finding } from './tree.ts'
import { validate } from './validate.ts'

/** docs/specification.md#shutdown. */
const SHUTDOWN_SECONDS_MAX = 31_536_000
const PROCESSORS_MAX = 1024
const MIB = 1024 * 1024
const BUFFERED_BYTES_MIN = MIB
const LOCAL_ADDRESSES_MAX = 64

const NOT_HERE = [
  ...['caAddress', 'caAuthToken', 'clusterId', 'customFunctions', 'database', 'dns', 'enableIpv6', 'gateway', 'hbone'],
  ...['histograms', 'localXdsPath', 'mcp', 'metrics', 'modelCatalog', 'namespace', 'network', 'sensitiveHeaders'],
  ...['serviceAccount', 'session', 'spiffe', 'standardAttributes', 'storage', 'trustDomain', 'xdsAddress'],
  'xdsAuthToken'
]

const DIRECTIVE = '(?:[A-Za-z0-9_:.-]+=)?(?:off|error|warn|info|debug|trace)'
const DIRECTIVES = new RegExp(`^${DIRECTIVE}(?:,${DIRECTIVE})*$`)
const LEVEL_EXPECTED = 'must be a level (off, error, warn, info, debug, trace) or a list such as "info,upstream=debug"'

const directives = () => z.string({ error: says(LEVEL_EXPECTED) }).regex(DIRECTIVES, LEVEL_EXPECTED)
const level = () =>
  z.union([directives(), list(directives(), 1, 64).transform((all) => all.join(','))], { error: says(LEVEL_EXPECTED) })
const format = () => z.enum(['text', 'json'])

const deadline = () =>
  duration().refine((ms) => ms <= SHUTDOWN_SECONDS_MAX * 1000, `must be at most ${SHUTDOWN_SECONDS_MAX}s`)
const positive = () => positiveDuration('must be longer than 0')

const base = z
  .strictObject({
    adminAddr: address().optional().describe('Admin server. Default localhost:15000. Environment: ADMIN_ADDR.'),
    admin: adminSchema.optional(),
    statsAddr: address().optional().describe('Metrics server. Default [::]:15020. Environment: STATS_ADDR.'),
    readinessAddr: address().optional().describe('Readiness server. Default [::]:15021. Environment: READINESS_ADDR.'),
    workerThreads: threads()
      .optional()
      .describe('Serving threads: a number, or a share of the processors ("50%"). Environment: WORKER_THREADS.'),
    maxBufferedBytes: whole(BUFFERED_BYTES_MIN, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe(
        'Bytes of bodies that are kept in memory at a time, by the whole process; requests beyond are refused (503). ' +
          'Default: a quarter of the memory, 64 MiB to 1 GiB.'
      ),
    logging: z
      .strictObject({
        level: level().optional().describe('Default info. Environment: LOG_LEVEL.'),
        format: format().optional().describe('Default text. Environment: LOG_FORMAT.'),
        ...refusedKeys('setting', ['database', 'fields', 'filter'])
      })
      .optional()
      .describe('The log of the process.'),
    connectionTerminationDeadline: deadline()
      .optional()
      .describe('Longest drain. Default 5s, or what TERMINATION_GRACE_PERIOD_SECONDS leaves.'),
    connectionMinTerminationDeadline: deadline()
      .optional()
      .describe('Shortest drain: how long new connections are still served. Default 0s.'),
    backend: z
      .strictObject({
        connectTimeout: positive().optional().describe('Default 10s.'),
        poolIdleTimeout: positive().optional().describe('How long an unused connection is kept. Default 90s.'),
        poolMaxSize: whole(1, 65_535).optional().describe('Connections per endpoint and worker thread. Default 1024.'),
        maxRequestsPerConnection: whole(0, Number.MAX_SAFE_INTEGER)
          .optional()
          .describe('Requests until a connection is replaced; 0 is no limit. Default 0.'),
        localAddresses: list(cidr(), 0, LOCAL_ADDRESSES_MAX)
          .optional()
          .describe(
            'Loopback and link-local addresses that backends may have, as addresses or ranges. Default: all; where a ' +
              'controller says what is served, none. Environment: LOCAL_ADDRESSES.'
          ),
        ...refusedKeys('setting', ['keepalives'])
      })
      .optional()
      .describe('Connections to backends.'),
    state: stateSchema.optional(),
    spendLog: spendLogSchema.optional(),
    ...refusedKeys('setting', NOT_HERE)
  })
  .refine(({ state, spendLog }) => spendLog === undefined || (spendLog.path ?? state?.path) !== undefined, {
    path: ['spendLog'],
    error: 'needs a path: its own, or that of state'
  })

/** The settings above, and the frontend policies that may stand among them. */
export function processSchema(policies: readonly Policy[]) {
  const shape: Record<string, ZodType> = {}
  for (const { name, inConfig } of policies) if (inConfig !== undefined) shape[name] = inConfig.optional()
  return base.safeExtend(shape)
}

type Settings = z.output<typeof base>
type Environment = Readonly<Record<string, string | undefined>>

const digits = () =>
  z
    .string()
    .regex(/^[0-9]{1,9}$/, 'must be a whole number')
    .transform(Number)
/** Environment variables are text: "4" is the number 4 of a setting. */
const threadsText = () => z.union([digits().pipe(whole(1, PROCESSORS_MAX)), threads()])

const addressesText = () =>
  z
    .string()
    .transform((text) => text.split(',').map((one) => one.trim()))
    .pipe(list(cidr(), 1, LOCAL_ADDRESSES_MAX))

/** Variables that win over a source, and the field of `config` that each stands for. */
const OVERRIDES = {
  // Where the admin server listens, or "off".
  ADMIN_ADDR: { field: 'adminAddr', schema: address() },
  // Where metrics are served, or "off".
  STATS_ADDR: { field: 'statsAddr', schema: address() },
  // Where readiness is served, or "off".
  READINESS_ADDR: { field: 'readinessAddr', schema: address() },
  // Serving threads: a number or a share of the processors.
  WORKER_THREADS: { field: 'workerThreads', schema: threadsText() },
  // The number of processors, where a container may use fewer than the machine has.
  CPU_LIMIT: { field: 'workerThreads', schema: digits().pipe(whole(1, PROCESSORS_MAX)) },
  // Level directives, with commas between them.
  LOG_LEVEL: { field: 'logging.level', schema: directives() },
  // text or json.
  LOG_FORMAT: { field: 'logging.format', schema: format() },
  // Loopback and link-local addresses that backends may have, with commas between them.
  LOCAL_ADDRESSES: { field: 'backend.localAddresses', schema: addressesText() },
  // The longest drain, a duration.
  CONNECTION_TERMINATION_DEADLINE: { field: 'connectionTerminationDeadline', schema: deadline() },
  // The shortest drain, a duration.
  CONNECTION_MIN_TERMINATION_DEADLINE: { field: 'connectionMinTerminationDeadline', schema: deadline() },
  // What Kubernetes grants from SIGTERM to SIGKILL; the default of the longest drain stays below it.
  TERMINATION_GRACE_PERIOD_SECONDS: {
    field: 'connectionTerminationDeadline',
    schema: digits().pipe(whole(0, SHUTDOWN_SECONDS_MAX))
  }
} as const satisfies Record<string, { readonly field: string; readonly schema: ZodType }>

type Name = keyof typeof OVERRIDES
export type Overrides = { readonly [N in Name]?: z.output<(typeof OVERRIDES)[N]['schema']> }

/** Reads the variables; those that are not set (or empty) are left out. Mistakes are appended to `findings`. */
export function readOverrides(env: Environment, findings: Finding[]): Overrides {
  const out: Record<string, unknown> = {}
  for (const [name, { field, schema }] of Object.entries(OVERRIDES)) {
    const text = Object.hasOwn(env, name) ? env[name] : undefined
    if (text === undefined || text === '') continue
    const path = ['config', ...field.split('.')]
    const outcome = validate<ZodType>(schema, text, path)
    if ('value' in outcome) out[name] = outcome.value
    else {
      for (const { message } of outcome.findings) {
        findings.push({ path, message: `environment variable ${name} ${message}`, at: 'key' })
      }
    }
  }
  return out
}

/** What the machine has. */
export interface Machine {
  readonly processors: number
  readonly memoryBytes: number
}

export function translateProcess(settings: Settings | undefined, env: Overrides, machine: Machine): ProcessSettings {
  const { logging, backend } = settings ?? {}
  const localAddresses = env.LOCAL_ADDRESSES ?? backend?.localAddresses
  return {
    adminAddr: env.ADMIN_ADDR ?? settings?.adminAddr ?? 'localhost:15000',
    ...(settings?.admin === undefined ? {} : { admin: translateAdmin(settings.admin) }),
    statsAddr: env.STATS_ADDR ?? settings?.statsAddr ?? '[::]:15020',
    readinessAddr: env.READINESS_ADDR ?? settings?.readinessAddr ?? '[::]:15021',
    workerThreads: threadCount(
      env.WORKER_THREADS ?? settings?.workerThreads ?? '100%',
      env.CPU_LIMIT ?? machine.processors
    ),
    bufferedBytesMax: settings?.maxBufferedBytes ?? bufferedBytes(machine.memoryBytes),
    logging: {
      level: env.LOG_LEVEL ?? logging?.level ?? 'info',
      format: env.LOG_FORMAT ?? logging?.format ?? 'text'
    },
    ...(settings?.state === undefined ? {} : { state: translateState(settings.state) }),
    ...(settings?.spendLog === undefined
      ? {}
      : { spendLog: translateSpendLog(settings.spendLog, settings.state?.path) }),
    terminationDeadlineMs:
      env.CONNECTION_TERMINATION_DEADLINE ??
      settings?.connectionTerminationDeadline ??
      deadlineWithin(env.TERMINATION_GRACE_PERIOD_SECONDS),
    terminationMinDeadlineMs:
      env.CONNECTION_MIN_TERMINATION_DEADLINE ?? settings?.connectionMinTerminationDeadline ?? 0,
    upstream: {
      connectTimeoutMs: backend?.connectTimeout ?? 10_000,
      poolIdleTimeoutMs: backend?.poolIdleTimeout ?? 90_000,
      poolMaxSize: backend?.poolMaxSize ?? 1024,
      requestsPerConnectionMax: backend?.maxRequestsPerConnection ?? 0,
      ...(localAddresses === undefined ? {} : { localAddresses })
    }
  }
}

/** The rest is for the programs' own memory, for what passes, and for what the kernel keeps of connections. */
function bufferedBytes(memoryBytes: number): number {
  return Math.floor(Math.min(Math.max(memoryBytes / 4, 64 * MIB), 1024 * MIB))
}

/** The longest drain that leaves time to exit: a second of a short grace period, five of a longer one. */
export function deadlineWithin(graceSeconds: number | undefined): number {
  if (graceSeconds === undefined) return 5_000
  return Math.max(0, graceSeconds - (graceSeconds <= 10 ? 1 : 5)) * 1000
}
