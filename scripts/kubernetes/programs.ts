/**
 * kube-apiserver and etcd for the conformance run: built from modules in fixed versions (servers/go.mod, go.sum), by
 * way of the Go module proxy, into a cache outside the repository. And the CRDs of the Gateway API, from its module.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '#engine/testing/conformance-cache.ts'

export const MODULE = join(import.meta.dirname, 'servers')
const [, VERSION = ''] = /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync(join(MODULE, 'go.mod'), 'utf8')) ?? []

export const KUBERNETES_VERSION = VERSION
/** The newest that Go 1.26 builds: its conformance suite is of the same version. */
export const GATEWAY_API_VERSION = 'v1.6.3'

const PACKAGES = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver'
} as const

/** Without this the server says that its version is unknown. */
const STAMP = `-X k8s.io/component-base/version.gitVersion=${VERSION}`

/** Paths of the programs. Throws an Error that says what is missing. */
export function serverPrograms(): Readonly<Record<keyof typeof PACKAGES, string>> {
  const sum = createHash('sha256')
  for (const name of ['go.mod', 'go.sum']) sum.update(readFileSync(join(MODULE, name)))
  const folder = cacheFolder('kubernetes', sum.digest('hex').slice(0, 12))
  return { etcd: built('etcd', folder), 'kube-apiserver': built('kube-apiserver', folder) }
}

function built(name: keyof typeof PACKAGES, folder: string): string {
  const program = join(folder, name)
  if (existsSync(program)) return program
  console.log(`kubernetes: building ${name}; the first time takes many minutes`)
  // One package at a time: the linker of kube-apiserver alone needs 2 GB.
  const flags = ['-mod=readonly', '-p', '1', '-trimpath', '-ldflags', `-s -w ${STAMP}`]
  go(['build', ...flags, '-o', program, PACKAGES[name]], MODULE)
  return program
}

/** Texts of the CRDs of the standard channel, with the policy of admission that guards them. */
export function gatewayApiCrds(): readonly string[] {
  const answer = go(['mod', 'download', '-json', `sigs.k8s.io/gateway-api@${GATEWAY_API_VERSION}`], MODULE)
  const { Dir: folder } = JSON.parse(answer) as { readonly Dir: string }
  const crds = join(folder, 'config', 'crd', 'standard')
  return readdirSync(crds).map((name) => readFileSync(join(crds, name), 'utf8'))
}

export function go(args: readonly string[], cwd: string): string {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' })
  } catch {
    throw new Error('Kubernetes is built with Go: install Go 1.26 or later, and have its program "go" on the PATH')
  }
  const env = { ...process.env, CGO_ENABLED: '0' }
  return execFileSync('nice', ['-n', '19', 'go', ...args], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit']
  })
}
