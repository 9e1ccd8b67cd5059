/** Runs the official suite against a cluster, and reads its results. */
import { spawn } from 'node:child_process'
import { createWriteStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const TEST_MINUTES = 60

export interface SuiteOptions {
  /** Path of the suite. */
  readonly program: string
  readonly profiles: readonly string[]
  readonly origin: string
  /** PEM. */
  readonly ca: string
  readonly token: string
  /** Where its configuration and its output go. */
  readonly folder: string
  readonly version: string
  readonly gatewayClass: string
  /** One test alone; empty: all of the profiles. */
  readonly only: string
  /** Of the report; null: none is written. */
  readonly report: string | null
  /** What Gateways may ask for, and what they may not. */
  readonly usableAddress: string
  readonly unusableAddress: string
  readonly print: (line: string) => void
}

export interface SuiteResult {
  readonly passed: readonly string[]
  readonly skipped: readonly string[]
  readonly failed: readonly string[]
}

export async function runSuite(options: SuiteOptions): Promise<SuiteResult> {
  const { program, folder, print } = options
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigOf(options), { mode: 0o600 })
  const child = spawn(program, flagsOf(options), {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const log = createWriteStream(join(folder, 'suite.log'))
  const results = { PASS: [] as string[], SKIP: [] as string[], FAIL: [] as string[] }
  for await (const line of createInterface({ input: child.stdout })) {
    log.write(`${line}\n`)
    const [, result, name] = /^ {4}--- (PASS|SKIP|FAIL): TestConformance\/(\w+) /.exec(line) ?? []
    if (name !== undefined) results[result as keyof typeof results].push(name)
    if (/^\s*--- FAIL|^panic:/.test(line)) print(line.trim())
  }
  const isWhole = results.PASS.length + results.SKIP.length + results.FAIL.length > 0
  if (!isWhole) results.FAIL.push('Setup')
  return { passed: results.PASS, skipped: results.SKIP, failed: results.FAIL }
}

function flagsOf(options: SuiteOptions): readonly string[] {
  const { profiles, gatewayClass, only, report, version, usableAddress, unusableAddress } = options
  return [
    '-test.v',
    '-test.run=^TestConformance$',
    `-test.timeout=${TEST_MINUTES}m`,
    `--gateway-class=${gatewayClass}`,
    `--conformance-profiles=${profiles.join(',')}`,
    // The cluster ends with the run.
    '--cleanup-base-resources=false',
    `--usable-address=${usableAddress}`,
    `--unusable-address=${unusableAddress}`,
    '--organization=weir',
    '--project=weir',
    '--url=https://weir.dev',
    '--contact=https://weir.dev',
    `--version=${version}`,
    ...(only === '' ? [] : [`--run-test=${only}`]),
    ...(report === null ? [] : [`--report-output=${report}`])
  ]
}

const kubeconfigOf = ({ origin, ca, token }: SuiteOptions): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'conformance',
    contexts: [{ name: 'conformance', context: { cluster: 'conformance', user: 'conformance' } }],
    clusters: [
      {
        name: 'conformance',
        cluster: { server: origin, 'certificate-authority-data': Buffer.from(ca).toString('base64') }
      }
    ],
    users: [{ name: 'conformance', user: { token } }]
  })
