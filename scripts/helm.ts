/** helm, and what it makes of the chart (scripts/package/chart). Needs Go, once. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { goProgram } from './services/go-program.ts'

/** Version 3 makes the same of the chart. */
const VERSION = 'v4.3.1'

export const CHART = join(import.meta.dirname, 'package', 'chart')
/** Where the plain manifests put the controller. */
export const NAMESPACE = 'weir-system'

/** What helm prints. Throws an Error with what it complains about. */
export function helm(...args: readonly string[]): string {
  const program = goProgram('helm.sh/helm/v4/cmd/helm', VERSION)
  return execFileSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024
  })
}

/** YAML of the objects, without the CRDs. `set`: values that are not the defaults, as "replicas=2". */
export function template(set: readonly string[] = []): string {
  const values = set.flatMap((one) => ['--set', one])
  return helm('template', 'weir', CHART, '--namespace', NAMESPACE, ...values)
}
