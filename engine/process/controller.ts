/** `weir controller`: the parts of the controller, the servers for probes and metrics, and the end of the process. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { availableParallelism, hostname } from 'node:os'
import { dirname, resolve } from 'node:path'
import { startAdmin } from '#engine/admin/admin.ts'
import type { BackendKind } from '#engine/contract/backend.ts'
import type { Policy } from '#engine/contract/policy.ts'
import { SYSTEM_TIME } from '#engine/contract/time.ts'
import { VERSION } from '#engine/contract/version.ts'
import { memoryLimit } from '#engine/kit/memory-limit.ts'
import { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import type { ApiConnection } from '#engine/kubernetes/client/connection.ts'
import { inCluster } from '#engine/kubernetes/client/in-cluster.ts'
import { connectionOf } from '#engine/kubernetes/client/kubeconfig.ts'
import { Controller, type ControllerOptions } from '#engine/kubernetes/controller/controller.ts'
import { provision } from '#engine/kubernetes/provisioning/index.ts'
import { CONTROLLER_NAME } from '#engine/kubernetes/resources/names.ts'
import { SnapshotServer } from '#engine/kubernetes/stream/index.ts'
import { Translator } from '#engine/kubernetes/translation/index.ts'
import { readOverrides, translateProcess } from '#engine/source/process.ts'
import type { Finding } from '#engine/source/tree.ts'
import { readPlain } from '#engine/standalone/source.ts'
import { type ControllerMetrics, createControllerMetrics } from '#engine/telemetry/controller.ts'
import { createLogger, type Logger } from '#engine/telemetry/log.ts'
import { EXIT_FAILURE, EXIT_OK } from './cli.ts'
import type { ControlPlaneOptions } from './control.ts'
import type { ControllerSettings } from './controller-options.ts'

export interface ControllerParts extends Pick<ControlPlaneOptions, 'check' | 'prepare'> {
  readonly policies: readonly Policy[]
  readonly backends: readonly BackendKind[]
}

const CLUSTER_DOMAIN = 'cluster.local'
const KEEP_MS = 3_600_000
/** Audience of the tokens of data planes: one for another audience is none for us. */
const TOKEN_AUDIENCE = 'weir.dev'

export async function runController(settings: ControllerSettings, parts: ControllerParts): Promise<void> {
  const findings: Finding[] = []
  const overrides = readOverrides(process.env, findings)
  if (findings.length > 0) return leave(findings.map(({ message }) => message).join('\n'))
  const { logging, statsAddr, readinessAddr } = translateProcess(undefined, overrides, machine())
  const logger = createLogger(logging)
  let connection: ApiConnection
  try {
    connection = connect(settings)
  } catch (error) {
    return leave((error as Error).message)
  }
  const client = new KubernetesClient(connection)
  const metrics = createControllerMetrics(VERSION)
  const log: ControllerOptions['log'] = (level, message) => logger.log(level, 'controller', message)
  const controller = new Controller({
    ...controllerOptions(settings, parts, { client, connection, log }),
    onTranslated: metrics.translated,
    onStatus: metrics.statusWritten
  })
  const admin = await startServers({ statsAddr, readinessAddr }, controller, { logger, metrics })
  if (admin === null) return leave(`cannot start: ${statsAddr} or ${readinessAddr} cannot be listened on`)
  endAtSignal(controller, logger)
  logger.log('info', 'start', `weir ${VERSION} controller: reads ${connection.url}`)
  await controller.start()
  logger.log('info', 'start', `everything is known: ${controller.gatewayCount} Gateways`)
}

const machine = () => ({ processors: availableParallelism(), memoryBytes: memoryLimit() })

function leave(message: string): void {
  process.stderr.write(`weir: ${message}\n`)
  process.exitCode = EXIT_FAILURE
}

/** Throws an Error that says how to reach an API server. */
export function connect({ kubeconfig, context }: ControllerSettings): ApiConnection {
  if (kubeconfig === undefined) {
    const pod = inCluster({ env: process.env, now: SYSTEM_TIME.now })
    if (pod !== null) return pod
  }
  const path = kubeconfig ?? process.env.KUBECONFIG
  if (!path) throw new Error('this is no pod: give a kubeconfig with --kubeconfig FILE or KUBECONFIG')
  return connectionOf(readPlain(readFileSync(path, 'utf8')), {
    folder: dirname(resolve(path)),
    time: SYSTEM_TIME,
    env: process.env,
    hasTerminal: process.stdin.isTTY,
    ...(context === undefined ? {} : { context })
  })
}

export interface Opened {
  readonly client: KubernetesClient
  readonly connection: ApiConnection
  readonly log: ControllerOptions['log']
}

/** Of a controller whose data planes are elsewhere. */
export function controllerOptions(
  settings: ControllerSettings,
  { policies, backends, check, prepare }: ControllerParts,
  { client, connection, log }: Opened
): ControllerOptions {
  const ownNamespace = process.env.POD_NAMESPACE || connection.namespace || 'default'
  const { host, port } = settings.listen
  const { controllerAddress = `weir-controller.${ownNamespace}.svc:${port}`, clusterDomain = CLUSTER_DOMAIN } = settings
  const { controllerName = CONTROLLER_NAME, image = `weir:${VERSION}` } = settings
  const shared = { policies, controllerAddress, image, tokenAudience: TOKEN_AUDIENCE }
  return {
    client,
    time: SYSTEM_TIME,
    log,
    namespace: settings.namespace,
    ownNamespace,
    // Pods of one name follow each other.
    identity: settings.electsLeader ? `${process.env.POD_NAME || hostname()}_${randomBytes(4).toString('hex')}` : null,
    translator: new Translator({
      ...{ policies, backends, env: process.env, check, prepare, ...machine(), clusterDomain, controllerName },
      readYaml: readPlain
    }),
    clusterDomain,
    controllerName,
    streamNames: [controllerAddress.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')],
    startStream: async (options) => {
      const server = new SnapshotServer({ ...options, port, ...(host === '' ? {} : { host }) })
      log('info', `data planes are served on port ${await server.listen()}`)
      return server
    },
    tokenAudience: TOKEN_AUDIENCE,
    backends,
    isDataPlane: false,
    provision: (input, controllerCa) => provision(input, { ...shared, controllerCa }),
    addresses: []
  }
}

/** Null: an address cannot be listened on, which has been logged. */
async function startServers(
  addresses: { readonly statsAddr: string; readonly readinessAddr: string },
  controller: Controller,
  { logger, metrics }: { readonly logger: Logger; readonly metrics: ControllerMetrics }
) {
  const startedAt = new Date().toISOString()
  try {
    return await startAdmin({
      adminAddr: 'off',
      ...addresses,
      state: () => ({
        ...{ version: VERSION, startedAt, snapshot: null, expanded: [], lastError: null, workers: [] },
        pending: controller.isReady ? [] : ['resources'],
        logLevel: logger.level()
      }),
      endpoints: async () => [],
      metrics: () => metrics.expose(controller),
      setLogLevel: (level) => logger.setLevel(level),
      quit: () => process.kill(process.pid, 'SIGTERM')
    })
  } catch (error) {
    logger.log('error', 'start', (error as Error).message)
    return null
  }
}

function endAtSignal(controller: Controller, logger: Logger): void {
  let isEnding = false
  const end = (signal: NodeJS.Signals) => {
    if (isEnding) return
    isEnding = true
    logger.log('info', 'end', `${signal}: the leadership is given back`)
    controller.stop().then(
      () => process.exit(EXIT_OK),
      (error: unknown) => {
        logger.log('error', 'end', String(error))
        process.exit(EXIT_FAILURE)
      }
    )
  }
  // Timers keep no process alive (SYSTEM_TIME). Without servers, and with an API server that is gone, nothing would.
  setInterval(() => {}, KEEP_MS)
  process.on('SIGTERM', () => end('SIGTERM'))
  process.on('SIGINT', () => end('SIGINT'))
}
