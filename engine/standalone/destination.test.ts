/** Where a client has connected to: what expressions read, and which transport cannot tell. */

import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { policies } from '#policies/index.ts'

const BODY = "'to ' + destination.address"
const READS = `transformation: { response: { set: { x-at: "${BODY}" } } }`

const file = (transport: string, onRoute: string, top = '{}') => `
frontendPolicies:
  http: { http1IdleTimeout: 12s, http1HeaderTimeout: 12s, http1MaxHeaders: 98 }
  tcp: { keepalives: { time: 0s } }
policies: ${top}
config: { adminAddr: "off", statsAddr: "off", readinessAddr: "off" }
binds: [{ port: 0, transport: ${transport}, listeners: [{ routes: [{ policies: { ${onRoute} directResponse: { status: 200 } } }] }] }]
`

test('the address that a client has connected to, of either family', async (t) => {
  const gateway = await startGateway(file('node', `${READS},`))
  t.after(() => gateway.close())
  const at = async (host: string) => (await fetch(`http://${host}:${gateway.port}/`)).headers.get('x-at')
  equal(await at('127.0.0.1'), 'to 127.0.0.1')
  equal(await at('127.0.0.2'), 'to 127.0.0.2')
})

test('uws cannot tell it: the field is absent, and loading the file says so', async (t) => {
  const text = file('uws', `${READS},`)
  const gateway = await startGateway(text)
  t.after(() => gateway.close())
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/`)
  equal(answer.headers.get('x-at'), null)
  const doubts = (config: string) => {
    const result = loadConfig(config.replace('port: 0', 'port: 80'), { file: 'a', env: {}, policies, backends })
    return result.ok ? result.warnings.filter((line) => line.includes('destination.address')) : ['refused']
  }
  match(doubts(text).join(), /routes\[0\].policies.transformation: reads destination.address, which is never there/)
  equal(doubts(file('uws', '', '{ authorization: { rules: ["destination.address == \'a\'"] } }')).length, 1)
  equal(doubts(file('auto', `${READS},`)).length, 0)
  equal(doubts(file('uws', "authorization: { rules: ['destination.port == 80'] },")).length, 0)
})
