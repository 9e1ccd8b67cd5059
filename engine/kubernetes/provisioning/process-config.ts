/**
 * The configuration file of a data plane's process: `config` of rawConfig below the typed fields. What else rawConfig
 * says is part of what the Gateway serves, and comes with its Snapshot (engine/kubernetes/translation).
 */
import type { Policy } from '#engine/contract/policy.ts'
import type { ProcessSettings } from '#engine/ir/snapshot.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { portOf } from '#engine/schema/net.ts'
import { objectOf, type Raw } from '#engine/schema/placed.ts'
import { deadlineWithin, processSchema, translateProcess } from '#engine/source/process.ts'
import type { Finding } from '#engine/source/tree.ts'
import { validate } from '#engine/source/validate.ts'
import { directivesOf } from './log-level.ts'
import { invalidParameters, type Level, type Parameters, placeOf } from './parameters.ts'

/** As other gateways have it: load balancers notice within 10 seconds, and most exchanges end within a minute. */
const SHUTDOWN_SECONDS = { min: 10, max: 60 }
/** What a process needs to end after its drain (deadlineWithin). */
const EXIT_SECONDS = 5

/** The machine has no part in what is read here. */
const ANY_MACHINE = { processors: 1, memoryBytes: 0 }

export interface ProcessConfig {
  /** The file: JSON. */
  readonly text: string
  /** Ports that its own servers have; null: none that others reach. */
  readonly readinessPort: number | null
  readonly statsPort: number | null
  /** From SIGTERM to SIGKILL. */
  readonly graceSeconds: number
  /** How long new connections are still served; null: the file says. */
  readonly minMs: number | null
  /** Ports that no listener can have. */
  readonly reserved: ReadonlySet<number>
}

export type Processed = { readonly config: ProcessConfig } | { readonly faults: readonly Fault[] }

export function processConfigOf(parameters: Parameters, policies: readonly Policy[]): Processed {
  const { levels, logging, shutdown } = parameters
  const directives = logging.level === undefined ? undefined : directivesOf(logging.level)
  if (directives !== undefined && 'message' in directives) {
    return { faults: faultsOf([{ path: ['spec', 'logging', 'level'], message: directives.message }], levels) }
  }
  const config = mergedConfig(parameters, directives?.level)
  const outcome = validate(processSchema(policies), config, ['spec', 'rawConfig', 'config'])
  if ('findings' in outcome) return { faults: faultsOf(outcome.findings, levels) }
  const settings = translateProcess(outcome.value, {}, ANY_MACHINE)
  const graceSeconds = shutdown?.max ?? graceOf(config, settings)
  const minSeconds = shutdown?.min ?? (Object.hasOwn(config, MIN_DEADLINE) ? null : SHUTDOWN_SECONDS.min)
  return {
    config: {
      text: `${JSON.stringify({ config }, null, 2)}\n`,
      readinessPort: reachablePort(settings.readinessAddr),
      statsPort: reachablePort(settings.statsAddr),
      graceSeconds,
      // What is accepted at the last moment could not be answered before the process is killed.
      minMs: minSeconds === null ? null : Math.min(minSeconds * 1000, deadlineWithin(graceSeconds)),
      reserved: reservedPorts(settings)
    }
  }
}

/** What `shutdown` says instead, as variables of the environment. */
const DEADLINE = 'connectionTerminationDeadline'
const MIN_DEADLINE = 'connectionMinTerminationDeadline'

/** Not on loopback, where it has no login: the backend of any route may be 127.0.0.1. No route reaches a socket. */
const ADMIN_ADDRESS = 'unix:/tmp/weir-admin.sock'
/** A variable of the environment may bring it back, and listeners at it are refused anyway. */
const ADMIN_PORT = 15_000

function mergedConfig({ rawConfig, logging: { format }, shutdown }: Parameters, level: string | undefined): Raw {
  const { [DEADLINE]: _, [MIN_DEADLINE]: __, ...others } = objectOf(rawConfig.config)
  const config: Raw = { adminAddr: ADMIN_ADDRESS, ...(shutdown === undefined ? objectOf(rawConfig.config) : others) }
  if (level === undefined && format === undefined) return config
  const typed = { ...(level === undefined ? {} : { level }), ...(format === undefined ? {} : { format }) }
  return { ...config, logging: { ...objectOf(config.logging), ...typed } }
}

/** A drain that the file makes longer than usual ends before the process is killed. */
function graceOf(config: Raw, { terminationDeadlineMs }: ProcessSettings): number {
  if (!Object.hasOwn(config, DEADLINE)) return SHUTDOWN_SECONDS.max
  return Math.max(SHUTDOWN_SECONDS.max, Math.ceil(terminationDeadlineMs / 1000) + EXIT_SECONDS)
}

function reservedPorts({ adminAddr, statsAddr, readinessAddr }: ProcessSettings): ReadonlySet<number> {
  const own = [adminAddr, statsAddr, readinessAddr].flatMap((address) => portOf(address) ?? [])
  return new Set([ADMIN_PORT, ...own])
}

/** At the topmost level that has the field; what is missing has none, so that of what is around it. */
function faultsOf(findings: readonly Pick<Finding, 'path' | 'message'>[], levels: readonly Level[]): readonly Fault[] {
  return findings.flatMap(({ path, message }) => {
    const place = path.map((_, i) => placeOf(levels, path.slice(0, path.length - i))).find((one) => one !== null)
    return place === undefined || place === null ? [] : [invalidParameters(message, { ...place, path })]
  })
}

const LOOPBACK = /^(?:localhost|127\.[0-9.]+|\[::1\]):/

/** Kubelets and collectors ask from outside of the pod. */
const reachablePort = (address: string): number | null => (LOOPBACK.test(address) ? null : portOf(address))
