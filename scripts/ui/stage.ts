/** A gateway with something to see: models, keys with budgets, routes, an MCP server, and traffic of all of them. */
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startModels } from '#engine/testing/models.ts'
import { freePort, type RunningProgram, runNode } from '#engine/testing/program.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const EVERYTHING = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
/** In each field that is secret: none may be in a page or an answer. */
export const CANARY = 'canary-of-the-ui'
export const CLIENT_KEY = `sk-${CANARY}-alice`

/** Between rounds: charts have something to draw, and the browser its processor. */
const TRICKLE_MS = 200

export interface Stage {
  /** Of the admin port: "http://127.0.0.1:1234". */
  readonly admin: string
  /** Of the port with routes. */
  readonly gateway: string
  /** Of the port with models. */
  readonly models: string
  /** Sends that many rounds of requests, and waits for the answers. */
  traffic(rounds: number): Promise<void>
  /** Sends requests to routes, and no chats, whose budgets flows need, until `stop`; that waits for the answers. */
  trickle(): { stop(): Promise<void> }
  stop(): Promise<void>
}

/** The bundle in dist must be that of these sources: npm run build. */
export async function startStage(): Promise<Stage> {
  const models = await startModels()
  const shop = createServer((request, response) => {
    response.writeHead(request.url?.includes('missing') === true ? 404 : 200, { 'content-type': 'text/plain' })
    response.end('from the shop\n')
  })
  await once(shop.listen(0, '127.0.0.1'), 'listening')
  const folder = await mkdtemp(join(tmpdir(), 'weir-stage-'))
  const ports = { admin: await freePort(), gateway: await freePort(), models: await freePort() }
  const file = join(folder, 'weir.yaml')
  const upstreams = { models: models.port, shop: (shop.address() as AddressInfo).port, closed: await freePort() }
  await writeFile(file, configuration(ports, upstreams, folder))
  const program = runNode([join(ROOT, 'dist', 'weir.mjs'), '-f', file])
  await program.logged('target=start')
  const at = (port: number) => `http://127.0.0.1:${port}`
  await answers(`${at(ports.admin)}/healthz`, program)
  return {
    ...{ admin: at(ports.admin), gateway: at(ports.gateway), models: at(ports.models) },
    traffic: async (rounds) => {
      for (let round = 0; round < rounds; round++) await sendRound(at(ports.gateway), at(ports.models), round)
    },
    trickle: () => trickle(at(ports.gateway)),
    stop: async () => {
      await program.stop()
      models.close()
      shop.close()
      shop.closeAllConnections()
      await rm(folder, { recursive: true, force: true })
    }
  }
}

async function answers(url: string, program: RunningProgram): Promise<void> {
  for (;;) {
    if (program.child.exitCode !== null) throw new Error(`the gateway ended; it said:\n${program.output}`)
    const response = await fetch(url).catch(() => null)
    if (response?.ok === true) return
  }
}

type Ports = { readonly [name in 'admin' | 'gateway' | 'models']: number }
type Upstreams = { readonly [name in 'models' | 'shop' | 'closed']: number }

const configuration = (ports: Ports, upstreams: Upstreams, folder: string): string => `config:
  adminAddr: 127.0.0.1:${ports.admin}
  statsAddr: 'off'
  readinessAddr: 'off'
  workerThreads: 2
  state: { path: ${folder}/state }
  spendLog: { path: ${folder}/spend }
  prices:
    responseHeader: true
    models:
      - { provider: openai, model: gpt-*, input: 2.5, output: 10 }
      - { provider: anthropic, model: claude-*, input: 3, output: 15 }
organisations:
  - name: acme
    budgets: [{ amount: 5000, period: Month, timeZone: Europe/Berlin }]
teams:
  - { name: research, organisation: acme, budgets: [{ amount: 0.02, period: Month }] }
  - { name: support, organisation: acme, budgets: [{ amount: 40, period: Month }] }
keys:
  - name: alice
    key: ${CLIENT_KEY}
    owner: alice@example.com
    team: research
    models: [gpt-*, claude-*]
    budgets: [{ amount: 0.015, period: Day }]
  - { name: bob, key: sk-${CANARY}-bob, team: support, tags: [laptop] }
  - { name: carol, key: sk-${CANARY}-carol, team: support, revoked: true }
llm:
  port: ${ports.models}
  models:
    - name: gpt-5-mini
      provider: openai
      params: { apiKey: ${CANARY}, baseUrl: 'http://127.0.0.1:${upstreams.models}/v1' }
    - name: claude-sonnet-4-5
      provider: anthropic
      params: { apiKey: ${CANARY}, baseUrl: 'http://127.0.0.1:${upstreams.models}' }
backends:
  - { name: shop, host: '127.0.0.1:${upstreams.shop}' }
  - { name: old-shop, host: '127.0.0.1:${upstreams.closed}' }
  - name: tools
    mcp:
      targets:
        - { name: every, stdio: { cmd: ${process.execPath}, args: [${EVERYTHING}, stdio] } }
binds:
  - port: ${ports.gateway}
    listeners:
      - name: public
        routes:
          - name: cart
            matches: [{ path: { pathPrefix: /cart } }]
            policies:
              cors: { allowOrigins: ['*'] }
              authorization: { rules: ['request.headers["x-team"] == "red"'] }
              timeout: { requestTimeout: 5s }
            backends: [{ backend: shop }]
          - name: catalogue
            matches: [{ path: { pathPrefix: /catalogue } }]
            policies:
              requestHeaderModifier: { set: { authorization: 'Bearer ${CANARY}' } }
            backends: [{ backend: shop, weight: 9 }, { backend: old-shop, weight: 1 }]
          - name: agents
            matches: [{ path: { pathPrefix: /mcp } }]
            backends: [{ backend: tools }]
          - name: health
            matches: [{ path: { exact: /health } }]
            policies: { directResponse: { status: 200, body: ok } }
      - name: admin-site
        hostname: admin.example
        routes:
          - { name: site, backends: [{ backend: shop }] }
`

/** Requests that pass, are refused, and fail; chats of two keys in two formats. */
async function sendRound(gateway: string, models: string, round: number): Promise<void> {
  const chat = (model: string, key: string, path: string, more: object = {}) =>
    fetch(models + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, max_tokens: 40, messages: [{ role: 'user', content: 'What is a weir?' }], ...more })
    }).then((response) => response.text())
  await Promise.all([
    sendPlain(gateway, round),
    chat('gpt-5-mini', CLIENT_KEY, '/v1/chat/completions'),
    chat('claude-sonnet-4-5', `sk-${CANARY}-bob`, '/v1/messages', { stream: round % 2 === 0 })
  ])
}

async function sendPlain(gateway: string, round: number): Promise<void> {
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(gateway + path, { headers }).then((response) => response.text())
  await Promise.all([
    get('/cart/1', { 'x-team': 'red' }),
    get('/cart/2'),
    get(`/catalogue/${round}`),
    get('/catalogue/missing'),
    get('/health')
  ])
}

function trickle(gateway: string): { stop(): Promise<void> } {
  let isOver = false
  const all = async () => {
    for (let round = 0; !isOver; round++) {
      await sendPlain(gateway, round)
      await new Promise((resolve) => setTimeout(resolve, TRICKLE_MS))
    }
  }
  const running = all()
  return {
    stop: async () => {
      isOver = true
      await running
    }
  }
}
