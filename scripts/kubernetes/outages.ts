/**
 * `npm run conformance -- kubernetes-outages`: kube-apiserver and etcd are killed, and stay away for minutes, with two
 * controllers and a data plane that gets 100 requests a second. No request may fail, controllers must not hammer, and
 * what is changed right afterwards is served.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'
import { backends } from '#backends/index.ts'
import { CRDS_FOLDER } from '#engine/kubernetes/crds/files.ts'
import { resourcesOf } from '#engine/kubernetes/resources/index.ts'
import { policies } from '#policies/index.ts'
import { ACCOUNT, OWN, type StartedController } from './controller-stage.ts'
import { controllerOptions, logged } from './fault-cases.ts'
import { FaultStage } from './fault-stage.ts'
import { install } from './install.ts'
import type { Judged } from './judge.ts'
import { OutageWatch } from './outage-watch.ts'
import { gatewayApiCrds } from './programs.ts'
import { type KubernetesServers, type ServerName, startKubernetes } from './servers.ts'

const SECOND = 1000
const AWAY_MS = 155 * SECOND
/** Each of the two times while controllers and the data plane are killed as well. */
const KILLED_MS = 30 * SECOND
/** For a Lease that a dead controller holds. */
const LEASE_MS = 20 * SECOND

/** False: something failed. */
export async function runOutages(print: (line: string) => void): Promise<boolean> {
  const servers = await startKubernetes()
  try {
    const client = servers.clientOf('admin')
    const own = resourcesOf(policies, backends).map(({ plural }) => new URL(`${plural}.yaml`, CRDS_FOLDER))
    await install(client, [...gatewayApiCrds(), ...own.map((file) => readFileSync(file, 'utf8'))])
    const judged = await outageCases(servers, print)
    const failed = judged.filter(({ why }) => why !== null)
    for (const { name, why } of failed) print(`  ${name}: ${why}`)
    print(`kubernetes-outages: ${judged.length - failed.length} passed, ${failed.length} failed`)
    return failed.length === 0
  } finally {
    await servers.stop()
  }
}

async function outageCases(servers: KubernetesServers, print: (line: string) => void): Promise<readonly Judged[]> {
  const stage = await FaultStage.open(servers)
  try {
    const options = controllerOptions(stage, { token: await stage.base.tokenOf(OWN, ACCOUNT) })
    const controllers: [StartedController, StartedController] = [
      await stage.base.startController(options),
      await stage.base.startController(options)
    ]
    stage.toControllers.lead(controllers.map(({ port }) => port))
    await stage.addressed()
    await stage.trustControllers()
    stage.startPlane(await stage.planeToken())
    const judged = [await stage.gatewaySays('Programmed', 'True Programmed')]
    stage.load(true)
    const cases = {
      'a dead API server': () => deadServer(stage, controllers, 'apiServer'),
      'a dead etcd': () => deadServer(stage, controllers, 'etcd'),
      'everything is dead': () => everythingIsDead(stage, controllers)
    }
    for (const [name, one] of Object.entries(cases)) {
      const [requests, failures] = [stage.requests, stage.failures.length]
      judged.push(...(await one()))
      const failed = stage.failures.slice(failures)
      print(`${name}: ${stage.requests - requests} requests, ${failed.length} failed`)
      judged.push({ name: `${name}: no request fails`, why: failed.length === 0 ? null : failed.join('; ') })
    }
    return judged
  } finally {
    await stage.close()
  }
}

const NAMES: Readonly<Record<ServerName, string>> = { apiServer: 'a dead API server', etcd: 'a dead etcd' }

/** The leader gives up, and one of the two leads again when it is back; the API server has another certificate then. */
async function deadServer(
  stage: FaultStage,
  controllers: readonly StartedController[],
  server: ServerName
): Promise<readonly Judged[]> {
  const name = NAMES[server]
  const { servers } = stage.base
  const programs = controllers.map(({ program }) => program)
  const watch = new OutageWatch(stage, programs)
  const judged: Judged[] = []
  await servers.restart(server, async () => {
    const lost = programs.map((program) => program.logged('the Lease could not be renewed in time'))
    await Promise.race([Promise.any(lost), after(AWAY_MS / 3)])
    await after(AWAY_MS)
    judged.push(...watch.measured(name))
    if (server === 'apiServer') servers.renewCertificate()
  })
  judged.push(await stage.works(`what is changed right after ${name}`, `after-${server.toLowerCase()}`))
  await after(LEASE_MS)
  judged.push(...watch.led(name))
  return judged
}

/** The data plane starts from what it has kept, and controllers that know nothing must not take it away. */
async function everythingIsDead(stage: FaultStage, controllers: readonly StartedController[]): Promise<Judged[]> {
  const name = 'everything is dead'
  const judged: Judged[] = []
  const options = controllerOptions(stage, { token: await stage.base.tokenOf(OWN, ACCOUNT) })
  let fresh: StartedController | null = null
  await stage.base.servers.restart('apiServer', async () => {
    for (const { program } of controllers) await program.stop()
    stage.toControllers.lead([])
    const plane = await stage.restartPlane('SIGKILL')
    judged.push(await logged(`${name}: a data plane that was killed`, { program: plane }, 'in force again'))
    await after(KILLED_MS)
    fresh = await stage.base.launchController(options)
    stage.toControllers.lead([fresh.port])
    await after(KILLED_MS)
  })
  judged.push(await logged(`${name}: the next controller`, fresh!, 'everything is known'))
  judged.push(await stage.works(`what is changed right after ${name}`, 'revived'))
  return judged
}
