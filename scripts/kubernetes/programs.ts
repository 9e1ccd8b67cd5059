/**
 * kube-apiserver and etcd for the conformance run: built from modules in fixed versions (servers/go.mod, go.sum), by
 * way of the Go module proxy, into a cache outside the repository. And the CRDs of the Gateway API, from its module.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GoModule } from './go-module.ts'

export const MODULE = join(import.meta.dirname, 'servers')
const [, VERSION = ''] = /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync(join(MODULE, 'go.mod'), 'utf8')) ?? []

export const KUBERNETES_VERSION = VERSION
/** The newest that Go 1.26 builds: its conformance suite is of the same version. */
export const GATEWAY_API_VERSION = 'v1.6.3'

/** Without this the server says that its version is unknown. */
const STAMP = `-X k8s.io/component-base/version.gitVersion=${VERSION}`

export interface ServerPrograms {
  readonly etcd: string
  readonly apiServer: string
}

/** Paths of the programs. Throws an Error that says what is missing. */
export function serverPrograms(): ServerPrograms {
  const module = new GoModule(MODULE, 'kubernetes')
  const built = (name: string, path: string) => module.program(name, ['build'], path, `-s -w ${STAMP}`)
  return {
    etcd: built('etcd', 'go.etcd.io/etcd/server/v3'),
    apiServer: built('kube-apiserver', 'k8s.io/kubernetes/cmd/kube-apiserver')
  }
}

/** Texts of the CRDs of the standard channel, with the policy of admission that guards them. */
export function gatewayApiCrds(): readonly string[] {
  const module = new GoModule(MODULE, 'kubernetes')
  const answer = module.run(['mod', 'download', '-json', `sigs.k8s.io/gateway-api@${GATEWAY_API_VERSION}`])
  const { Dir: folder } = JSON.parse(answer) as { readonly Dir: string }
  const crds = join(folder, 'config', 'crd', 'standard')
  return readdirSync(crds).map((name) => readFileSync(join(crds, name), 'utf8'))
}

/** To be called ahead of `runInside`: a cluster of its own has no way out of its network. */
export function fetchPrograms(): void {
  serverPrograms()
  gatewayApiCrds()
}
