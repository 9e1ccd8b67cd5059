/**
 * `npm run conformance -- mcp`: the published MCP suite (@modelcontextprotocol/conformance) against a fixture,
 * asked directly and through the gateway. What counts is the difference: what passes directly passes through.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startGateway } from '#engine/testing/gateway.ts'
import { startFixture } from './fixture.ts'

export const REVISIONS = ['2025-11-25', '2026-07-28']

/** Checks of one scenario; warnings are neither. */
export interface Score {
  readonly passed: number
  readonly failed: number
  /** What failed, or was warned of: id of the check, and why. */
  readonly faults: readonly string[]
}

export type Scores = ReadonlyMap<string, Score>

export interface Comparison {
  readonly revision: string
  readonly direct: Scores
  readonly through: Scores
}

/** Optional in the revision, and not in the SDK that the fixture is made with. */
const OUT_OF_SCOPE = /^(?:tasks-|sep-2640-)/
export const SUITE = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js')
const RUN_MS_MAX = 300_000

/** Both runs of each revision. */
export async function runMcp(revisions: readonly string[]): Promise<Comparison[]> {
  const fixture = await startFixture()
  const gateway = await startGateway(configuration(fixture.port))
  try {
    const comparisons: Comparison[] = []
    for (const revision of revisions) {
      const direct = await runSuite(revision, fixture.port)
      comparisons.push({ revision, direct, through: await runSuite(revision, gateway.port) })
    }
    return comparisons
  } finally {
    await gateway.close()
    await fixture.close()
  }
}

/** Answers to this machine's names only: the suite tries others, as a page of another site would (DNS rebinding). */
export function configuration(port: number): string {
  const listener = (hostname: string): object => ({
    name: hostname.replace(/[^a-z0-9]/g, '-'),
    hostname,
    routes: [{ backends: [{ mcp: { targets: [{ name: 'fixture', mcp: { host: `http://127.0.0.1:${port}/mcp` } }] } }] }]
  })
  // JSON is YAML.
  return JSON.stringify({ binds: [{ port: 0, listeners: [listener('localhost'), listener('127.0.0.1')] }] })
}

async function runSuite(revision: string, port: number): Promise<Scores> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-mcp-conformance-'))
  try {
    const url = `http://localhost:${port}/mcp`
    const args = [SUITE, 'server', '--url', url, '--requirements', revision, '-o', folder]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'], timeout: RUN_MS_MAX })
    // Its exit code says that something failed, which may be the fixture's own.
    await once(child, 'exit')
    return readScores(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

/** One folder per scenario: server-NAME-TIME. */
function readScores(folder: string): Scores {
  const scores = new Map<string, Score>()
  for (const entry of readdirSync(folder).sort()) {
    const name = /^server-(.+)-\d{4}-\d{2}-\d{2}T/.exec(entry)?.[1]
    if (name === undefined || OUT_OF_SCOPE.test(name)) continue
    const checks = JSON.parse(readFileSync(join(folder, entry, 'checks.json'), 'utf8')) as Check[]
    scores.set(name, scoreOf(checks))
  }
  if (scores.size === 0) throw new Error('the conformance suite has run nothing')
  return scores
}

export function scoreOf(checks: readonly Check[]): Score {
  const faulty = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
  return {
    passed: checks.filter(({ status }) => status === 'SUCCESS').length,
    failed: checks.filter(({ status }) => status === 'FAILURE').length,
    faults: faulty.map(({ id, status, errorMessage }) => `${status} ${id}: ${errorMessage ?? 'no reason given'}`)
  }
}

/** Scenarios that fail through the gateway and do not directly, or pass less: what is the gateway's. */
export function differing({ direct, through }: Comparison): string[] {
  const names = [...new Set([...direct.keys(), ...through.keys()])]
  return names.filter((name) => {
    const [one, other] = [direct.get(name), through.get(name)]
    return one?.failed !== other?.failed || one?.passed !== other?.passed
  })
}

export function printMcp(comparison: Comparison, withMisses: boolean): string[] {
  const { revision, direct, through } = comparison
  const total = (scores: Scores): string => {
    const all = [...scores.values()]
    const sum = (of: (score: Score) => number): number => all.reduce((so, score) => so + of(score), 0)
    return `${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed)} failed`
  }
  const lines = [`mcp ${revision}: direct ${total(direct)}; through ${total(through)}`]
  for (const name of differing(comparison)) {
    const shown = (score: Score | undefined): string =>
      score === undefined ? 'not run' : `${score.passed}/${score.failed}`
    lines.push(`  ${name}: direct ${shown(direct.get(name))}, through ${shown(through.get(name))} (passed/failed)`)
    if (withMisses) for (const fault of through.get(name)?.faults ?? []) lines.push(`    ${fault}`)
  }
  return lines
}

/** Whether the gateway fails what passes without it. */
export function isWorse(comparison: Comparison): boolean {
  const { direct, through } = comparison
  return differing(comparison).some((name) => (through.get(name)?.failed ?? 1) > (direct.get(name)?.failed ?? 0))
}
