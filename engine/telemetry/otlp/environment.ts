/**
 * Variables of the environment that OpenTelemetry defines for SDKs ("Environment Variable Specification", "Resource
 * SDK"). Those that describe the process are defaults; how telemetry is made and sent is for the configuration alone.
 */
import type { ResourceAttributes } from '#engine/contract/otlp.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What is read of them. */
export interface OtelEnvironment {
  /** Nothing is sent to collectors. Headers of traces pass unread. */
  readonly isDisabled: boolean
  /** Defaults of the resource, the later of one name holds. */
  readonly resource: ResourceAttributes
  /** For the log, when the process starts. */
  readonly notices: readonly Notice[]
}

interface Notice {
  readonly level: 'info' | 'warn'
  readonly message: string
}

/** They are in every request to a collector, of which the smallest has 8 KiB. */
const RESOURCE_CHARS_MAX = 4096

const COLLECTOR = 'host or backendRef of frontendPolicies.tracing, metrics.otlp and accessLog.otlp'
const TLS = 'tls of the backend that backendRef names'

/** Variables that are not read: the first pattern that fits tells what to set instead. */
const SETTINGS: readonly (readonly [pattern: RegExp, setting: string])[] = [
  [/^OTEL_EXPORTER_OTLP_(?:\w+_)?ENDPOINT$/, COLLECTOR],
  [/^OTEL_EXPORTER_OTLP_(?:\w+_)?PROTOCOL$/, 'protocol beside host'],
  [/^OTEL_EXPORTER_OTLP_(?:\w+_)?HEADERS$/, 'auth of the backend that backendRef names'],
  [/^OTEL_EXPORTER_OTLP_(?:\w+_)?(?:CERTIFICATE|CLIENT_KEY|INSECURE)$/, TLS],
  [/^OTEL_EXPORTER_OTLP_METRICS_TIMEOUT$/, 'frontendPolicies.metrics.otlp.exportTimeout'],
  [/^OTEL_EXPORTER_OTLP_(?:\w+_)?TIMEOUT$/, 'batch.exportTimeout'],
  [/^OTEL_(?:BSP|BLRP)_/, 'batch'],
  [/^OTEL_TRACES_SAMPLER/, 'frontendPolicies.tracing.randomSampling and clientSampling'],
  [/^OTEL_PROPAGATORS$/, 'frontendPolicies.tracing.propagators'],
  [/^OTEL_TRACES_EXPORTER$/, 'frontendPolicies.tracing'],
  [/^OTEL_METRICS_EXPORTER$/, 'frontendPolicies.metrics.otlp'],
  [/^OTEL_LOGS_EXPORTER$/, 'frontendPolicies.accessLog.otlp'],
  [/^OTEL_METRIC_EXPORT_INTERVAL$/, 'frontendPolicies.metrics.otlp.interval'],
  [/^OTEL_METRIC_EXPORT_TIMEOUT$/, 'frontendPolicies.metrics.otlp.exportTimeout'],
  [/^OTEL_LOG_LEVEL$/, 'config.logging.level']
]

const READ = ['OTEL_SERVICE_NAME', 'OTEL_RESOURCE_ATTRIBUTES', 'OTEL_SDK_DISABLED']

export function otelEnvironment(env: Environment): OtelEnvironment {
  const notices: Notice[] = []
  const warn = (message: string): void => void notices.push({ level: 'warn', message })
  const { OTEL_SERVICE_NAME: service = '', OTEL_RESOURCE_ATTRIBUTES: attributes = '' } = env
  const resource = resourceAttributesOf(attributes)
  if (typeof resource === 'string') warn(`OTEL_RESOURCE_ATTRIBUTES is left out: ${resource}`)
  const named: ResourceAttributes = service === '' ? [] : [['service.name', service]]
  const disabled = (env.OTEL_SDK_DISABLED ?? '').toLowerCase()
  const isDisabled = disabled === 'true'
  if (isDisabled) {
    const message = 'OTEL_SDK_DISABLED=true: no traces, metrics and log records are sent to collectors'
    notices.push({ level: 'info', message })
  } else if (disabled !== '' && disabled !== 'false') warn('OTEL_SDK_DISABLED must be true or false: it is left out')
  const unread = unreadOf(env)
  if (unread.length > 0) {
    warn(`variables of OpenTelemetry that are not read, and what to set instead: ${unread.join('; ')}`)
  }
  return { isDisabled, resource: [...(typeof resource === 'string' ? [] : resource), ...named], notices }
}

/** Pairs of a W3C Baggage header, or why they are none: one mistake leaves all of them out. */
function resourceAttributesOf(text: string): ResourceAttributes | string {
  if (text.length > RESOURCE_CHARS_MAX) return `it has more than ${RESOURCE_CHARS_MAX} characters`
  const pairs: (readonly [name: string, value: string])[] = []
  for (const [i, member] of text.split(',').entries()) {
    if (member.trim() === '') continue
    const equals = member.indexOf('=')
    const name = equals < 0 ? null : decoded(member.slice(0, equals))
    const value = decoded(member.slice(equals + 1))
    if (name === null || name === '' || value === null)
      return `pair ${i + 1} must be name=value, with "," and "%" as %2C and %25`
    pairs.push([name, value])
  }
  return pairs
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return null
  }
}

/** "NAME (setting)", in the order of names. */
function unreadOf(env: Environment): string[] {
  const names = Object.keys(env).filter((name) => name.startsWith('OTEL_') && !READ.includes(name) && env[name] !== '')
  return names.sort().map((name) => {
    const setting = SETTINGS.find(([pattern]) => pattern.test(name))?.[1]
    return setting === undefined ? `${name} (nothing)` : `${name} (${setting})`
  })
}
