/**
 * The suite's scenarios of authorization. They test clients: the suite is the server that wants tokens, and the
 * authorization server that gives them. What counts here is that a client comes as far through the gateway.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Check, type Comparison, type Score, type Scores, SUITE, scoreOf } from './conformance.ts'

const CLIENT = fileURLToPath(new URL('./auth-client.ts', import.meta.url))
/** Scenarios at a time. */
const SIDE_BY_SIDE = 2
const RUN_MS_MAX = 120_000

/** The gateway before one server of the suite, which sees its clients' tokens itself. */
export function authConfiguration(server: URL): string {
  const targets = [{ name: 'suite', mcp: { host: server.href } }]
  const routes = [
    {
      matches: [{ path: { exact: server.pathname } }],
      backends: [{ mcp: { targets, forwardHeaders: ['authorization'] } }]
    },
    // What it says of itself: where tokens are to be had.
    { backends: [{ host: server.host }] }
  ]
  // JSON is YAML.
  return JSON.stringify({ binds: [{ port: 0, listeners: [{ routes }] }] })
}

/** The scenarios of authorization that `revision` requires of clients (the suite's own frozen list). */
export function authScenarios(revision: string): string[] {
  const file = join(dirname(SUITE), '..', 'requirements', `${revision}.yaml`)
  const [, required = ''] = /^client:\n((?: .*\n|#.*\n|\n)*)/m.exec(readFileSync(file, 'utf8')) ?? []
  return [...required.matchAll(/^ +- (auth\/\S+)$/gm)].map(([, name]) => name!)
}

export async function runAuth(revision: string): Promise<Comparison> {
  const [direct, through] = [new Map<string, Score>(), new Map<string, Score>()]
  const waiting = authScenarios(revision).flatMap((name) => [
    { name, way: 'direct', scores: direct },
    { name, way: 'through', scores: through }
  ])
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const score = await runScenario(revision, next.name, next.way)
      if (score !== null) next.scores.set(next.name, score)
    }
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
  const inOrder = (scores: Scores): Scores => new Map([...scores].sort(([a], [b]) => (a < b ? -1 : 1)))
  return { revision: `${revision} auth`, direct: inOrder(direct), through: inOrder(through) }
}

/** Null: it has not come to an end. */
async function runScenario(revision: string, name: string, way: string): Promise<Score | null> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-mcp-conformance-'))
  try {
    const command = `${process.execPath} --disable-warning=ExperimentalWarning ${CLIENT} ${way}`
    const which = ['--scenario', name, '--spec-version', revision, '-o', folder]
    const args = [SUITE, 'client', '--command', command, ...which]
    const child = spawn(process.execPath, args, { stdio: 'ignore', timeout: RUN_MS_MAX })
    await once(child, 'exit')
    const file = readdirSync(folder, { recursive: true }).find((entry) => String(entry).endsWith('checks.json'))
    if (file === undefined) return null
    return scoreOf(eachOnce(JSON.parse(readFileSync(join(folder, String(file)), 'utf8')) as Check[]))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const WORST_FIRST = ['FAILURE', 'WARNING', 'SUCCESS']

/** Some checks are made of every request: the gateway's own (it asks a server what it is) must not count. */
export function eachOnce(checks: readonly Check[]): Check[] {
  const worst = new Map<string, Check>()
  for (const status of WORST_FIRST)
    for (const check of checks) if (check.status === status && !worst.has(check.id)) worst.set(check.id, check)
  return [...worst.values()]
}
