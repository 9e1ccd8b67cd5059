/** Active checks reach the servers of every kind of backend that has any, and go on over reloads. */
import { ok } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { startOrigin } from '#engine/testing/origin.ts'

const OPENAPI = { openapi: '3.1.0', info: { title: 't', version: '1' }, paths: { '/x': { get: { operationId: 'x' } } } }
const folder = mkdtempSync(join(tmpdir(), 'checked-'))
writeFileSync(join(folder, 'api.json'), JSON.stringify(OPENAPI))
after(() => rmSync(folder, { recursive: true }))

const at = (port: number) => `http://127.0.0.1:${port}`
/** By what a backend of a route says. */
const KINDS: Readonly<Record<string, (port: number) => string>> = {
  host: (port) => `host: "127.0.0.1:${port}"`,
  hosts: (port) => `hosts: ["127.0.0.1:${port}"]`,
  ai: (port) => `ai: { provider: { openai: {}, host: 127.0.0.1, port: ${port} } }`,
  'ai with groups': (port) =>
    `ai: { groups: [{ providers: [{ name: a, openai: {}, host: 127.0.0.1, port: ${port} }] }] }`,
  mcp: (port) => `mcp: { targets: [{ name: a, mcp: { host: "${at(port)}/mcp" } }] }`,
  'mcp beside a program': (port) =>
    `mcp: { targets: [{ name: a, mcp: { host: "${at(port)}/mcp" } }, { name: b, stdio: { cmd: cat } }] }`,
  sse: (port) => `mcp: { targets: [{ name: a, sse: { host: "${at(port)}/sse" } }] }`,
  openapi: (port) =>
    `mcp: { targets: [{ name: a, openapi: { host: "127.0.0.1:${port}", schema: { file: api.json } } }] }`
}

async function watched(t: TestContext) {
  let wake: (() => void) | null = null
  const origin = await startOrigin((response, { url }) => {
    response.writeHead(url === '/well' ? 200 : 404).end()
    if (url === '/well') wake?.()
  })
  t.after(() => origin.close())
  return {
    port: origin.port,
    next: () =>
      new Promise<void>((resolve) => {
        wake = resolve
      })
  }
}

for (const [name, backend] of Object.entries(KINDS)) {
  test(`${name} is checked`, async (t) => {
    const { port, next } = await watched(t)
    const yaml = (comment: string) => `# ${comment}
policies: { health: { active: { http: { path: /well }, interval: 100ms } }, circuitBreaker: { maxRequests: 7 } }
binds: [{ port: 0, listeners: [{ routes: [{ name: "${comment}", backends: [{ ${backend(port)} }] }] }] }]
`
    const first = next()
    const gateway = await startGateway(yaml('one'), { folder })
    t.after(() => gateway.close())
    await first
    for (const comment of ['two', 'three']) {
      await gateway.reload(yaml(comment))
      await next()
      await next()
    }
    ok(gateway.metrics().includes('weir_upstream_checks_total{'))
  })
}
