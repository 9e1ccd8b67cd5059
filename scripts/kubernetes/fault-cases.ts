/**
 * What goes wrong around `weir controller` and a data plane at a real API server: credentials that expire, clocks that
 * differ, an etcd that forgets, controllers of which one was stopped, and servers that say nothing for minutes. 100
 * requests are sent each second all the time, and none may fail.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { freePort } from '#bench/load/ports.ts'
import {
  ACCOUNT,
  AUDIENCE,
  ControllerStage,
  OWN,
  object,
  type StartedController,
  type StartOptions,
  type User
} from './controller-stage.ts'
import { accountClaims, FaultStage, NAMESPACE, PLANE_ACCOUNT, planeClaims, uidOf } from './fault-stage.ts'
import type { Judged } from './judge.ts'
import type { KubernetesServers } from './servers.ts'

const SECOND = 1000
/** The API server says nothing for so long. */
const SILENT_MS = 130 * SECOND
/** Of the first token of the controller. API servers remember the tokens that they have seen for ten seconds. */
const TOKEN_SECONDS = 30
/** API servers take a token for a minute after its end (the leeway of go-jose). */
const LOGGED_MS_MAX = 120 * SECOND
const API_AUDIENCE = 'https://kubernetes.default.svc'
const EXEC_V1 = 'client.authentication.k8s.io/v1'
const LEASE_V1 = 'coordination.k8s.io/v1'
const LEASE = 'weir-controller'
const LEASE_SECONDS = 5

type Case = (stage: FaultStage, controller: StartedController) => Promise<readonly Judged[]>

/** In this order: each leaves everything as it was, but for the controller, which the last ones replace. */
const CASES: readonly Case[] = [
  tokensOfController,
  tokensOfDataPlane,
  compaction,
  portThatIsTaken,
  etcdStops,
  splitLease,
  silentApiServer
]

export async function faultCases(servers: KubernetesServers): Promise<Judged[]> {
  const judged = [
    ...(await clientCertificate(servers)),
    ...(await credentialProgram(servers)),
    ...(await otherClocks(servers))
  ]
  const stage = await FaultStage.open(servers)
  try {
    writeFileSync(tokenFile(stage), await shortToken(stage))
    const controller = await startController(stage, { tokenFile: tokenFile(stage) })
    stage.toControllers.lead([controller.port])
    await stage.addressed()
    await stage.trustControllers()
    stage.startPlane(await stage.planeToken())
    judged.push(await stage.gatewaySays('Programmed', 'True Programmed'))
    stage.load(true)
    for (const one of CASES) {
      const { length } = stage.failures
      judged.push(...(await one(stage, controller)))
      const failed = stage.failures.slice(length)
      judged.push({
        name: `faults: ${one.name}: no request fails`,
        why: failed.length === 0 ? null : failed.join('; ')
      })
    }
    return judged
  } finally {
    await stage.close()
  }
}

const tokenFile = (stage: FaultStage): string => join(stage.base.folder, 'controller.token')

const startController = (stage: FaultStage, user: User): Promise<StartedController> =>
  stage.base.startController(controllerOptions(stage, user))

/** Of a controller that reaches the API server, and is reached, by the ways of the stage. */
export const controllerOptions = (stage: FaultStage, user: User): StartOptions => ({
  user,
  apiOrigin: `https://127.0.0.1:${stage.toApi.port}`,
  address: `127.0.0.1:${stage.toControllers.port}`
})

/** `says` is logged, in time: for the first time, or `again`, counted from this call. */
export async function logged(
  name: string,
  { program }: Pick<StartedController, 'program'>,
  says: string,
  again: 'again' | '' = ''
): Promise<Judged> {
  const before = again === '' ? 0 : program.output.split(says).length - 1
  const late = after(LOGGED_MS_MAX, 'late' as const, { ref: false })
  const found = await Promise.race([program.logged(says, before + 1), late])
  return { name: `faults: ${name}`, why: found === 'late' ? `it does not say: ${says}` : null }
}

/** The name in it is that of its ServiceAccount: RBAC reads names. */
async function clientCertificate(servers: KubernetesServers): Promise<readonly Judged[]> {
  const base = await ControllerStage.open(servers)
  try {
    const { cert, key } = servers.certificateOf(`system:serviceaccount:${OWN}:${ACCOUNT}`)
    const data = (text: string) => Buffer.from(text).toString('base64')
    const user = { 'client-certificate-data': data(cert), 'client-key-data': data(key) }
    const controller = await base.startController({ user })
    return [await logged('a client certificate', controller, 'this controller holds the Lease')]
  } finally {
    await base.close()
  }
}

/** A program gives a token that expires, and then a certificate; the Lease is renewed with each. */
async function credentialProgram(servers: KubernetesServers): Promise<readonly Judged[]> {
  const base = await ControllerStage.open(servers)
  const [program, answer] = [join(base.folder, 'login'), join(base.folder, 'answer')]
  const give = (status: object) => {
    writeFileSync(`${answer}.new`, JSON.stringify({ apiVersion: EXEC_V1, kind: 'ExecCredential', status }))
    renameSync(`${answer}.new`, answer)
  }
  const isRenewedAfter = (ms: number) =>
    base.until(async () => {
      const lease = (await base.get('leases', LEASE_V1, LEASE, OWN)) as { readonly spec?: { renewTime?: string } }
      return Date.parse(lease.spec?.renewTime ?? '') > ms
    })
  try {
    writeFileSync(program, `#!/bin/sh\nexec cat '${answer}'\n`, { mode: 0o700 })
    const { metadata } = await base.get('serviceaccounts', 'v1', ACCOUNT, OWN)
    const now = Math.floor(Date.now() / SECOND)
    const times = { iat: now, nbf: now, exp: now + TOKEN_SECONDS }
    const claims = { ...accountClaims(OWN, ACCOUNT, String(metadata.uid)), ...times, aud: API_AUDIENCE }
    const expiresAt = (now + TOKEN_SECONDS) * SECOND
    give({ token: await servers.signedToken(claims), expirationTimestamp: new Date(expiresAt).toISOString() })
    const exec = { apiVersion: EXEC_V1, command: program, interactiveMode: 'Never', provideClusterInfo: true }
    const controller = await base.startController({ user: { exec } })
    const judged = [await logged('a program that gives a token', controller, 'this controller holds the Lease')]
    const { cert, key } = servers.certificateOf(`system:serviceaccount:${OWN}:${ACCOUNT}`)
    give({ clientCertificateData: cert, clientKeyData: key })
    // API servers remember a token for ten seconds.
    const isRenewed = await isRenewedAfter(expiresAt + 15 * SECOND)
    judged.push({ name: 'faults: and later a certificate', why: isRenewed ? null : 'the Lease is not renewed' })
    return judged
  } finally {
    await base.close()
  }
}

/** Another controller has written a Lease by its own clock, and is gone. Candidates do not compare clocks. */
async function otherClocks(servers: KubernetesServers): Promise<readonly Judged[]> {
  const judged: Judged[] = []
  for (const hours of [-1, 1]) {
    const base = await ControllerStage.open(servers)
    const begun = Date.now()
    const time = new Date(begun + hours * 3600 * SECOND).toISOString().replace('Z', '000Z')
    const spec = { holderIdentity: 'gone', leaseDurationSeconds: LEASE_SECONDS, acquireTime: time, renewTime: time }
    await base.admin.apply(object(LEASE_V1, 'Lease', LEASE, { spec }, OWN), 'leases')
    try {
      const controller = await base.startController()
      const name = `a Lease of a clock that is an hour ${hours < 0 ? 'behind' : 'ahead'}`
      judged.push(await logged(name, controller, 'this controller holds the Lease'))
      const lease = (await base.get('leases', LEASE_V1, LEASE, OWN)) as { readonly spec?: { acquireTime?: string } }
      const isWaitedFor = Date.parse(lease.spec?.acquireTime ?? '') - begun >= LEASE_SECONDS * SECOND
      judged.push({ name: `faults: ${name} is waited for`, why: isWaitedFor ? null : 'it was taken at once' })
    } finally {
      await base.close()
    }
  }
  return judged
}

/** For what the controller does at its start. */
async function shortToken(stage: FaultStage): Promise<string> {
  const claims = accountClaims(OWN, ACCOUNT, await uidOf(stage, OWN, ACCOUNT))
  const now = Math.floor(Date.now() / SECOND)
  const times = { iat: now, nbf: now, exp: now + TOKEN_SECONDS }
  return await stage.base.servers.signedToken({ ...claims, ...times, aud: API_AUDIENCE })
}

/** It expires, and the file has another one later. Watches go on; what is asked anew is refused for a while. */
async function tokensOfController(stage: FaultStage, controller: StartedController): Promise<readonly Judged[]> {
  const refused = await logged('the token of the controller expires', controller, '401')
  writeFileSync(tokenFile(stage), await stage.base.tokenOf(OWN, ACCOUNT))
  return [refused, await stage.works('the controller goes on with the next one', 'rotated')]
}

async function tokensOfDataPlane(stage: FaultStage): Promise<readonly Judged[]> {
  const claims = planeClaims(await uidOf(stage, NAMESPACE, PLANE_ACCOUNT))
  const now = Math.floor(Date.now() / SECOND)
  const token = (from: number, to: number) =>
    stage.base.servers.signedToken({ ...claims, iat: now + from, nbf: now + from, exp: now + to, aud: AUDIENCE })
  stage.writePlaneToken(await token(-600, -60))
  const plane = await stage.restartPlane()
  const judged = [
    await logged('a data plane starts with a token that is over', { program: plane }, 'it answers with 4')
  ]
  judged.push({ name: 'faults: it serves what it has kept', why: await stage.answers({ '/steady': 'steady' }) })
  // By the clock of the API server it begins later.
  stage.writePlaneToken(await token(Math.floor(Date.now() / SECOND) - now + 8, 3600))
  judged.push(await logged('it connects when its token begins', { program: plane }, 'connected to the controller'))
  stage.writePlaneToken(await stage.planeToken())
  judged.push(await stage.works('and follows the controller', 'connected'))
  return judged
}

/** The controller is cut off, objects change, etcd forgets how, and the API server knows no version from before. */
async function compaction(stage: FaultStage, controller: StartedController): Promise<readonly Judged[]> {
  const [gone, changed, fresh] = ['deleted', 'changed', 'fresh'].map((name) => stage.route(name, name))
  await stage.apply('httproutes', gone!)
  await stage.apply('httproutes', changed!)
  const before = await stage.answers({ '/deleted': 'deleted', '/changed': 'changed' })
  stage.toApi.lead([])
  await stage.remove('httproutes', gone!)
  await stage.apply('httproutes', stage.route('changed', 'other'))
  await stage.apply('httproutes', fresh!)
  await stage.base.servers.compact()
  await stage.base.servers.restart('apiServer', async () => {})
  stage.toApi.lead([Number(new URL(stage.base.servers.origin).port)])
  const afterwards = await stage.answers({ '/deleted': '404', '/changed': 'other', '/fresh': 'fresh' })
  const fault = controller.program.output.includes('a fault of weir') ? 'it is a fault of weir: see its log' : null
  return [{ name: 'faults: etcd forgets what a watch needs', why: before ?? afterwards ?? fault }]
}

/** The data plane cannot apply what it gets: it says why, goes on, and follows when it can. */
async function portThatIsTaken(stage: FaultStage): Promise<readonly Judged[]> {
  const port = await freePort()
  const other = createServer().listen(port)
  await new Promise((resolve) => other.once('listening', resolve))
  await stage.apply('gateways', stage.gateway([stage.port, port]))
  const judged = [await stage.gatewaySays('Programmed', 'False Invalid data plane edge-1 goes on with what it has')]
  other.close()
  await stage.apply('gateways', stage.gateway([stage.port]))
  judged.push(await stage.gatewaySays('Programmed', 'True Programmed'))
  judged.push(await stage.works('after a draft that was refused', 'applied'))
  return judged
}

/** The API server answers, but for what needs etcd: watches live, the Lease cannot be renewed. */
async function etcdStops(stage: FaultStage, controller: StartedController): Promise<readonly Judged[]> {
  const { servers } = stage.base
  const lost = logged('the Lease is lost with etcd', controller, 'the Lease could not be renewed', 'again')
  servers.signal('etcd', 'SIGSTOP')
  try {
    await lost
  } finally {
    servers.signal('etcd', 'SIGCONT')
  }
  await stage.base.until(async () => (await stage.base.admin.ask('GET', '/readyz')).status === 200)
  return [await lost, await stage.works('after etcd was stopped', 'resumed')]
}

/** The leader sleeps longer than its Lease, another one takes it, and the first wakes: it must not write or serve. */
async function splitLease(stage: FaultStage, first: StartedController): Promise<readonly Judged[]> {
  const second = await startController(stage, { token: await stage.base.tokenOf(OWN, ACCOUNT) })
  // As behind a Service: the data plane asks one or the other.
  stage.toControllers.lead([first.port, second.port])
  const judged = [await stage.works('two controllers', 'both')]
  first.program.signal('SIGSTOP')
  judged.push(await logged('a second controller takes over', second, 'this controller holds the Lease'))
  judged.push(await stage.works('while the first one sleeps', 'asleep'))
  const yields = logged('the first one gives up as it wakes', first, 'this controller does not hold the Lease', 'again')
  first.program.signal('SIGCONT')
  judged.push(await yields, await stage.works('after it woke', 'awake'))
  await first.program.stop()
  stage.toControllers.lead([second.port])
  return judged
}

/** Connections stay, and nobody answers. Meanwhile the data plane starts again. */
async function silentApiServer(stage: FaultStage): Promise<readonly Judged[]> {
  const { servers } = stage.base
  const judged: Judged[] = []
  servers.signal('apiServer', 'SIGSTOP')
  try {
    await after(SILENT_MS / 2)
    const plane = await stage.restartPlane()
    judged.push(
      await logged('a data plane starts while the API server is silent', { program: plane }, 'in force again')
    )
    await after(SILENT_MS / 2)
  } finally {
    servers.signal('apiServer', 'SIGCONT')
  }
  judged.push(await stage.works('after an API server that was silent for minutes', 'spoken'))
  return judged
}
