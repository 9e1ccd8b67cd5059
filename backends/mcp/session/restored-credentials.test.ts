/** Sessions that a target has lost begin again with what the target is shown: in another worker, and after a reload. */
import { deepEqual, equal } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { clientOf } from '#backends/mcp/testing/gateway.ts'
import { answerSse, serverOf, targetOf } from '#backends/mcp/testing/plain-servers.ts'
import { type McpHttpServer, startMcp } from '#backends/mcp/testing/servers.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { hour, keySet, signingKey, token } from '#engine/testing/tokens.ts'

const KEY = signingKey('ES256')
const policies = { jwtAuth: { issuer: 'https://issuer.example', jwks: keySet([KEY]) } }
const PASSTHROUGH = { passthrough: {} }
/** Enough for each of three workers to get some. */
const CALLS = 12

const server = (t: TestContext) =>
  startMcp(t, { isJson: true, setUp: (made) => void made.registerTool('x', {}, () => ({ content: [] })) })

const bearerOf = async (sub: string): Promise<string> => `Bearer ${await token(KEY, hour({ sub }))}`

/** Distinct values of Authorization on requests that began a session, and on the others. */
function shownTo({ seen }: McpHttpServer): { began: unknown[]; others: unknown[] } {
  const isBegin = ({ body }: { body: string }) => body.includes('"initialize"')
  const values = (wanted: boolean) => [
    ...new Set(seen.filter((one) => isBegin(one) === wanted).map(({ headers }) => headers.authorization))
  ]
  return { began: values(true), others: values(false) }
}

const countBegun = ({ seen }: McpHttpServer): number => seen.filter(({ body }) => body.includes('"initialize"')).length

test('three workers: a lost session begins again with the credential of its caller, and of no other', async (t) => {
  const [passed, open, keyed] = [await server(t), await server(t), await server(t)]
  const port = await freePort()
  const targets = [
    targetOf('mcp', passed.port, 'passed', PASSTHROUGH),
    targetOf('mcp', open.port, 'open'),
    targetOf('mcp', keyed.port, 'keyed', { key: 'canary' })
  ]
  const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 3 }
  const program = runProgram(['-c', JSON.stringify({ config, mcp: { port, targets, policies } })])
  t.after(() => program.stop())
  await program.logged('target=start')
  const shown: string[] = []
  for (const sub of ['ann', 'bob']) {
    const authorization = await bearerOf(sub)
    shown.push(authorization)
    // A connection for each request: workers take turns.
    const headers = { authorization, connection: 'close' }
    const { client } = await clientOf(t, `http://127.0.0.1:${port}/mcp`, headers)
    for (const name of ['passed', 'open', 'keyed']) {
      for (let i = 0; i < CALLS; i++) {
        if (i === 2) for (const one of [passed, open, keyed]) one.forget()
        await client.callTool({ name: `${name}_x` })
      }
    }
  }
  deepEqual(shownTo(passed), { began: shown, others: shown })
  deepEqual(shownTo(open), { began: [undefined], others: [undefined] })
  deepEqual(shownTo(keyed), { began: ['Bearer canary'], others: ['Bearer canary'] })
  for (const one of [passed, open, keyed]) equal(countBegun(one) > 2, true)
})

const fileOf = (target: object, other: object) =>
  JSON.stringify({
    binds: [{ port: 0, listeners: [{ routes: [{ policies, backends: [{ mcp: { targets: [target, other] } }] }] }] }]
  })

test('after a reload a session shows what the new configuration says, also where it begins again', async (t) => {
  const [one, other] = [await server(t), await server(t)]
  const fileWith = (auth: object | undefined, otherAuth?: object) =>
    fileOf(targetOf('mcp', one.port, 'one', auth), targetOf('mcp', other.port, 'other', otherAuth))
  const gateway = await startGateway(fileWith(PASSTHROUGH))
  t.after(() => gateway.close())
  const authorization = await bearerOf('ann')
  const { client } = await clientOf(t, `http://127.0.0.1:${gateway.port}/mcp`, { authorization })
  const steps: [string, unknown, unknown][] = [
    [fileWith(PASSTHROUGH), authorization, undefined],
    [fileWith({ key: 'canary' }, PASSTHROUGH), 'Bearer canary', authorization],
    [fileWith(undefined, { key: 'other' }), undefined, 'Bearer other'],
    [fileWith(PASSTHROUGH), authorization, undefined]
  ]
  for (const [file, wanted, wantedOfOther] of steps) {
    for (const isLost of [false, true]) {
      await gateway.reload(file)
      for (const { seen } of [one, other]) seen.length = 0
      if (isLost) for (const { sessions } of [one, other]) sessions.clear()
      for (const name of ['one_x', 'other_x']) await client.callTool({ name })
      const began = (value: unknown) => (isLost ? [value] : [])
      deepEqual(shownTo(one), { began: began(wanted), others: [wanted] }, file)
      deepEqual(shownTo(other), { began: began(wantedOfOther), others: [wantedOfOther] }, file)
    }
  }
})

test('over SSE, where the stream is the session, a reload begins it with what is shown now', async (t) => {
  const [one, other] = [await serverOf(t, answerSse()), await serverOf(t, answerSse())]
  const fileWith = (auth: object | undefined, otherAuth?: object) =>
    fileOf(targetOf('sse', one.port, 'one', auth), targetOf('sse', other.port, 'other', otherAuth))
  const gateway = await startGateway(fileWith(PASSTHROUGH))
  t.after(() => gateway.close())
  const authorization = await bearerOf('ann')
  const { client } = await clientOf(t, `http://127.0.0.1:${gateway.port}/mcp`, { authorization })
  const valuesOf = ({ seen }: typeof one) => [...new Set(seen.map(({ headers }) => headers.authorization))]
  for (const [file, wanted, wantedOfOther] of [
    [fileWith(PASSTHROUGH), authorization, undefined],
    [fileWith({ key: 'canary' }, PASSTHROUGH), 'Bearer canary', authorization],
    [fileWith(undefined, { key: 'other' }), undefined, 'Bearer other']
  ] as const) {
    await gateway.reload(file)
    for (const { seen } of [one, other]) seen.length = 0
    for (const name of ['one_x', 'other_x']) await client.callTool({ name })
    deepEqual([valuesOf(one), valuesOf(other)], [[wanted], [wantedOfOther]], file)
  }
})
