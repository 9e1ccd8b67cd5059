/** What is kept for a caller of 2026-07-28 is kept over reloads, and is one whichever route leads to it. */
import { deepEqual, equal } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { serveNotes } from '#backends/mcp/testing/notes.ts'
import { statelessClientOf } from '#backends/mcp/testing/stateless.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'

const CHILD = fileURLToPath(new URL('../testing/notes-child.fixture.ts', import.meta.url))
const QUIET = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } }
const KINDS = ['stdio', 'http', 'sse'] as const
type Kind = (typeof KINDS)[number]

async function targetOf(t: TestContext, kind: Kind): Promise<object> {
  const args = ['--disable-warning=ExperimentalWarning', CHILD]
  if (kind === 'stdio') return { name: 'notes', stdio: { cmd: process.execPath, args } }
  const { http, port } = await serveNotes(kind)
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  const host = `http://127.0.0.1:${port}`
  return kind === 'http'
    ? { name: 'notes', mcp: { host: `${host}/mcp` } }
    : { name: 'notes', sse: { host: `${host}/sse` } }
}

/** One backend by two routes, whose hosts are rewritten by other rules. `more`: other routes. */
const fileOf = (target: object, more: readonly object[] = []): string => {
  const routes = [
    ...more,
    { name: 'a', matches: [{ path: { pathPrefix: '/mcp' } }], backends: [{ backend: 'tools' }] },
    {
      name: 'b',
      matches: [{ path: { pathPrefix: '/other' } }],
      policies: { hostRewrite: 'None' },
      backends: [{ backend: 'tools' }]
    }
  ]
  const backends = [{ name: 'tools', mcp: { targets: [target], forwardHeaders: ['authorization'] } }]
  return JSON.stringify({ config: QUIET, backends, binds: [{ port: 0, listeners: [{ routes }] }] })
}

type Add = () => Promise<string>

async function adder(t: TestContext, { port }: TestGateway, path: string): Promise<Add> {
  const client = await statelessClientOf(t, `http://127.0.0.1:${port}${path}`, {}, { authorization: 'Bearer one' })
  return async () => {
    const result = await client.callTool({ name: 'add', arguments: { text: 'x' } })
    return (result as { content: { text: string }[] }).content[0]!.text
  }
}

for (const kind of KINDS) {
  describe(`what is kept for a caller: ${kind}`, () => {
    it('stays when something else is configured', async (t) => {
      const target = await targetOf(t, kind)
      const gateway = await startGateway(fileOf(target))
      t.after(() => gateway.close())
      const add = await adder(t, gateway, '/mcp')
      equal(await add(), 'note 1')
      const other = { name: 'else', matches: [{ path: { exact: '/else' } }], backends: [{ host: '127.0.0.1:1' }] }
      await gateway.reload(fileOf(target, [other]))
      equal(await add(), 'note 2')
      await gateway.reload(fileOf(target))
      equal(await add(), 'note 3')
    })

    it('is one for all routes', async (t) => {
      const gateway = await startGateway(fileOf(await targetOf(t, kind)))
      t.after(() => gateway.close())
      const [add, other] = [await adder(t, gateway, '/mcp'), await adder(t, gateway, '/other')]
      deepEqual([await add(), await other(), await add(), await other()], ['note 1', 'note 2', 'note 3', 'note 4'])
    })
  })
}
