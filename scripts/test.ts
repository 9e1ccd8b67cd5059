/**
 * `npm test`: types, format and lint, floating promises, house rules and layers, all at once; then
 * every *.test.ts under node's own test runner, whose summary is the last thing printed.
 * `npm test -- path/to/one.test.ts ...` runs only those tests.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { isTest, listFiles, ROOT } from './files.ts'

/** Fits two cores; test files mostly wait for sockets. */
const TEST_CONCURRENCY = 2
/** For one file: a hang, even a busy loop, becomes a failure that names it. */
const TEST_TIMEOUT_MS = 120_000

interface Check {
  readonly name: string
  /** Arguments for node: a script and its own arguments. */
  readonly args: readonly string[]
}

interface Outcome {
  readonly code: number
  readonly output: string
}

/** Script files behind an installed tool, from its package: works on every platform, and without a PATH. */
function tool(packageName: string, binary: string): string {
  const folder = join(ROOT, 'node_modules', packageName)
  const manifest = join(folder, 'package.json')
  if (!existsSync(manifest)) throw new Error(`${packageName} is not installed: run npm ci first`)
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: string | Record<string, string> }
  const path = typeof bin === 'string' ? bin : bin[binary]
  if (path === undefined) throw new Error(`${packageName} has no program ${binary}`)
  return join(folder, path)
}

function checks(): Check[] {
  return [
    { name: 'tsc', args: [tool('typescript', 'tsc'), '--noEmit'] },
    { name: 'biome', args: [tool('@biomejs/biome', 'biome'), 'check', '.'] },
    { name: 'oxlint', args: [tool('oxlint', 'oxlint'), '--type-aware', '.'] },
    { name: 'tidy', args: ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts/tidy.ts')] },
    { name: 'layers', args: ['--disable-warning=ExperimentalWarning', join(ROOT, 'scripts/layers.ts')] }
  ]
}

/** oxlint looks for its type-aware half in the PATH; npm sets that, a direct call does not. */
const env = { ...process.env, PATH: `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}` }

/** Runs the node that runs this, so that every step has the pinned version. Killed by a signal: code 1. */
function runNode(args: readonly string[], stdio: 'pipe' | 'inherit'): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', stdio, stdio] })
    const chunks: Buffer[] = []
    child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }))
  })
}

/** Runs one check and prints its line; what it said is printed only when it failed. */
async function runCheck({ name, args }: Check): Promise<string | null> {
  const startedAt = performance.now()
  const { code, output } = await runNode(args, 'pipe')
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`)
  if (code === 0) return null
  console.log(output.trimEnd())
  return name
}

async function main(asked: readonly string[]): Promise<void> {
  const wanted = asked.length > 0 ? asked : listFiles(ROOT).filter(isTest)
  const results = asked.length > 0 ? [] : await Promise.all(checks().map(runCheck))
  const failed = results.filter((name) => name !== null)
  const args = ['--disable-warning=ExperimentalWarning', '--test', `--test-timeout=${TEST_TIMEOUT_MS}`]
  const { code } = await runNode([...args, `--test-concurrency=${TEST_CONCURRENCY}`, ...wanted], 'inherit')
  if (failed.length > 0) console.error(`failed before the tests: ${failed.join(', ')} (see above)`)
  if (failed.length > 0 || code !== 0) process.exitCode = 1
}

await main(process.argv.slice(2))
