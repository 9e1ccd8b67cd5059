/** Errors of the gateway's own to clients of MCP: they have the id of the request, and the log says why they came. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { INITIALIZE, post } from './testing/gateway.ts'

const FILE = `
config: { logging: { level: info } }
binds:
  - port: 0
    listeners:
      - routes:
          - backends:
              - mcp: { targets: [{ name: notes, mcp: { host: "http://127.0.0.1:1/mcp" } }] }
`

test('a target that is not there, and a message that is not taken', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-reasons-mcp-'))
  const log = join(folder, 'log')
  const fd = openSync(log, 'a')
  t.after(() => {
    closeSync(fd)
    rmSync(folder, { recursive: true })
  })
  const gateway = await startGateway(FILE, { log: { format: 'text', fd } })
  const url = `http://127.0.0.1:${gateway.port}/mcp`
  for (const [id, body] of [
    ['down', INITIALIZE],
    ['bad', '{']
  ] as const) {
    const answer = await post(url, body, { 'x-request-id': id })
    equal(answer.headers.get('x-request-id'), id)
    await answer.text()
  }
  const made = await post(url, '{')
  match(made.headers.get('x-request-id') ?? '', /^req_/)
  await made.text()
  await gateway.close()
  const details = readFileSync(log, 'utf8').match(/reason.detail="[^"]*"|request.id=(?:down|bad)/g)
  deepEqual(details?.slice(0, 4), [
    'reason.detail="target notes: the backend refused the connection"',
    'request.id=down',
    'reason.detail="Parse error: the body is not JSON"',
    'request.id=bad'
  ])
})
