/** What the gateway says of itself. */
import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mergeFacts } from '#backends/mcp/protocol/initialize-result.ts'
import { hostile } from '#backends/mcp/targets/http/hostile.fixture.ts'
import { gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { VERSION } from '#engine/contract/version.ts'
import { OWN_INFO } from './initialize.ts'

describe('initialize', () => {
  it('names the gateway and its version', () => deepEqual(OWN_INFO, { name: 'weir', version: VERSION }))

  it('asks for the newest known revision where the client knows a newer one', async (t) => {
    const { port, seen } = await hostile(t, (_body, response) => void response.writeHead(202).end())
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', port)]))
    const message = { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion: '2030-01-01' } }
    equal((await post(url, message)).status, 200)
    equal(JSON.parse(seen[0]!.body).params.protocolVersion, '2025-11-25')
    const { params: _params, ...without } = INITIALIZE
    const refused = (await (await post(url, without)).json()) as { error: { code: number } }
    equal(refused.error.code, -32602)
  })

  it('of several: the oldest revision, and capabilities that at least one of them has', () => {
    const facts = (protocolVersion: string, capabilities: object) => ({
      protocolVersion,
      capabilities: capabilities as never,
      serverInfo: {},
      instructions: null
    })
    const a = facts('2025-11-25', { tools: { listChanged: false }, logging: {} })
    const b = facts('2025-06-18', { tools: { listChanged: true }, resources: { subscribe: true } })
    deepEqual(
      mergeFacts(
        new Map([
          ['a', a],
          ['b', b]
        ]),
        OWN_INFO
      ),
      {
        protocolVersion: '2025-06-18',
        capabilities: { tools: { listChanged: true }, logging: {}, resources: { subscribe: true } },
        serverInfo: OWN_INFO,
        instructions: null
      }
    )
  })
})
