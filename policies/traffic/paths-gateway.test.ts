/** docs/paths.md line by line over every transport, with nginx as the backend; and twins of routes over all of them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { startServer } from '#engine/testing/daemon.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { freePort } from '#engine/testing/program.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'

interface Row {
  readonly sent: string
  readonly setting: string
  readonly backend: string
  readonly readings: readonly string[]
  readonly nginx: string
}

const page = readFileSync(new URL('../../docs/paths.md', import.meta.url), 'utf8')
const table = page.slice(page.indexOf('## What reaches a backend'), page.indexOf('Chosen so that'))
const code = (cell: string) => cell.replaceAll('`', '').trim()
const rows: readonly Row[] = table
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => {
    const [, sent, setting, backend, readings, nginx] = line.split('|')
    const all = code(readings!).split(' and ')
    return { sent: code(sent!), setting: code(setting!), backend: code(backend!), readings: all, nginx: code(nginx!) }
  })

const settings = [...new Set(rows.map((row) => row.setting))]

/** The value of `paths` that a cell of the table shows. */
function pathsOf(setting: string): Readonly<Record<string, unknown>> | undefined {
  const [key, value] = setting.split(': ')
  return setting === '' ? undefined : { [key!]: value === 'true' ? true : value }
}

/** A rule about a path. One that was encoded twice has an escape, which only an expression may name. */
const isPath = (text: string) =>
  text.includes('%2e')
    ? `request.path.matches("^${text.replaceAll('%', '[%]')}$")`
    : `request.path == ${JSON.stringify(text)}`

// --- nginx, which says what it got and what it makes of it ---

const folder = mkdtempSync(join(tmpdir(), 'weir-paths-'))
const port = await freePort()
const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`)
writeFileSync(
  join(folder, 'conf'),
  `daemon off; master_process off; pid ${folder}/pid; error_log /dev/null;
   events {} http { access_log off; ${temp.join(' ')} server { listen 127.0.0.1:${port};
     location / { return 200 "$request_uri\\n$uri\\n"; } } }`
)
const stopNginx = await startServer('nginx', ['-p', folder, '-c', join(folder, 'conf'), '-e', '/dev/null'], port)
after(async () => {
  await stopNginx()
  rmSync(folder, { recursive: true })
})

// --- transports ---

interface Answer {
  readonly status: number
  readonly location: string
  readonly body: string
}

type Ask = (gateway: TestGateway, path: string, fields?: Readonly<Record<string, string>>) => Promise<Answer>

const overHttp1: Ask = async ({ port: at }, target, fields = {}) => {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines.join('')}\r\n`
  const text = await exchangeRaw(at, head)
  const end = text.indexOf('\r\n\r\n')
  const location = /^location: (.*)$/im.exec(text.slice(0, end))?.[1]?.trim() ?? ''
  return { status: Number(text.slice(9, 12)), location, body: Buffer.from(text.slice(end + 4), 'latin1').toString() }
}

const overHttp2: Ask = async ({ port: at }, path, fields = {}) => {
  const session = connect(`http://127.0.0.1:${at}`)
  try {
    const stream = session.request({ ':path': path, ...fields })
    const [head] = (await once(stream, 'response')) as [Record<string, string | number>]
    let body = ''
    stream.setEncoding('utf8')
    for await (const piece of stream) body += piece
    return { status: Number(head[':status']), location: String(head.location ?? ''), body }
  } finally {
    session.close()
  }
}

const UWS = {
  http: { http1IdleTimeout: '12s', http1HeaderTimeout: '12s', http1MaxHeaders: 98 },
  tcp: { keepalives: { time: '0s' } }
}

const TRANSPORTS: readonly (readonly [string, 'node' | 'uws', Ask])[] = [
  ['HTTP/1.1 over node', 'node', overHttp1],
  ['HTTP/1.1 over uws', 'uws', overHttp1],
  ['HTTP/2', 'node', overHttp2],
  // uWebSockets.js has none.
  ['absolute targets', 'node', (gateway, path, fields) => overHttp1(gateway, `http://a${path}`, fields)]
]

interface Served {
  readonly transport: 'node' | 'uws'
  readonly paths?: Readonly<Record<string, unknown>> | undefined
  readonly routes: readonly unknown[]
}

function started({ transport, paths, routes }: Served): Promise<TestGateway> {
  const listener = { routes, ...(paths === undefined ? {} : { paths }) }
  return startGateway(
    JSON.stringify({
      ...(transport === 'uws' ? { frontendPolicies: UWS } : {}),
      binds: [{ port: 0, transport, listeners: [listener] }]
    })
  )
}

const backends = [{ host: `127.0.0.1:${port}` }]

for (const [name, transport, ask] of TRANSPORTS) {
  describe(name, () => {
    test('the table of docs/paths.md', async (t) => {
      assert.ok(rows.length > 30)
      for (const setting of settings) {
        const gateway = await started({ transport, paths: pathsOf(setting), routes: [{ backends }] })
        t.after(() => gateway.close())
        for (const { sent, backend, nginx: read } of rows.filter((row) => row.setting === setting)) {
          const { status, location, body } = await ask(gateway, sent)
          const [got, uri] = body.split('\n')
          assert.equal(status === 200 ? got : `${status} ${location}`.trim(), backend, `${sent} ${setting}`)
          if (read !== '') assert.equal(uri, read, `${sent} ${setting}`)
        }
      }
    })

    test('rules see request.path and its other readings', async (t) => {
      for (const setting of settings) {
        const own = rows.filter((row) => row.setting === setting && row.readings[0] !== '')
        const rules = own.flatMap(({ readings }) => readings)
        const routes = rules.map((text, i) => ({
          matches: [{ headers: [{ name: 'x-rule', value: { exact: String(i) } }] }],
          policies: { authorization: { rules: [{ deny: isPath(text) }] } },
          backends
        }))
        if (routes.length === 0) continue
        const gateway = await started({ transport, paths: pathsOf(setting), routes })
        t.after(() => gateway.close())
        for (const { sent, readings } of own) {
          for (const text of readings) {
            const { status } = await ask(gateway, sent, { 'x-rule': String(rules.indexOf(text)) })
            assert.equal(status, 403, `${sent} ${setting}, a rule about ${text}`)
          }
        }
      }
    })

    test('twins of a denied path', async (t) => {
      const denied = { directResponse: { status: 403, body: 'no' } }
      const routes = [
        { matches: [{ path: { exact: '/a:b/c' } }], policies: denied },
        { matches: [{ path: { pathPrefix: '/x@y' } }], policies: denied },
        { backends }
      ]
      const gateway = await started({ transport, routes })
      t.after(() => gateway.close())
      const twins = [
        '/a%3Ab/c',
        '/a%3ab%2Fc',
        '/a:b;x/c',
        '/a:b//c',
        '/x%40y',
        '/%78%40y/z',
        '/x@y;a/b',
        '//x@y/z',
        '/x@y%2Fz'
      ]
      for (const path of twins) {
        assert.ok([400, 403].includes((await ask(gateway, path)).status), path)
      }
      assert.equal((await ask(gateway, '/a:b/d')).status, 200)
    })

    test('a prefix is rewritten however it is spelled', async (t) => {
      const rewritten = { urlRewrite: { path: { prefix: '/new' } } }
      const routes = [{ matches: [{ path: { pathPrefix: '/a@b' } }], policies: rewritten, backends }]
      const gateway = await started({ transport, routes })
      t.after(() => gateway.close())
      for (const path of ['/a@b/c', '/a%40b/c']) assert.equal((await ask(gateway, path)).body.split('\n')[0], '/new/c')
    })
  })
}
