/**
 * `weir import agentgateway`: most of its file means the same here. What is said in other words is rewritten, and what
 * weir does not have is taken out by who loads the result. Source: the schema and the examples of agentgateway.
 */

import type { ForeignFile, Importer, TakenOut } from '#engine/contract/importer.ts'
import { Draft, ImportError } from '#engine/importers/draft.ts'
import { objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import { bindGateways } from './gateways.ts'
import { rewriteLlm } from './llm.ts'
import { rewriteRoutes } from './routes.ts'

const TOP = [
  'binds',
  'llm',
  'mcp',
  'gateways',
  'routes',
  'tcpRoutes',
  'config',
  'frontendPolicies',
  'policies',
  'backends'
]
/** Keys whose text is the path of a file. */
const FILES = new Set(['cert', 'key', 'root', 'file'])

export const agentgateway: Importer = {
  name: 'agentgateway',
  title: 'agentgateway',
  import: importFile,
  includes: () => [],
  keepsPlaces: (value) => objectOf(value).gateways === undefined,
  takesOut
}

function importFile(files: readonly ForeignFile[]): Draft {
  const [file] = files as [ForeignFile]
  if (!TOP.some((key) => Object.hasOwn(objectOf(file.value), key))) {
    throw new ImportError('this is no configuration of agentgateway: it has neither binds, llm nor mcp')
  }
  const draft = new Draft()
  Object.assign(draft.value, withPaths(structuredClone(file.value), file) as Raw)
  bindGateways(draft, file)
  rewriteRoutes(draft, file)
  rewriteLlm(draft, file)
  keepComments(draft, file)
  return draft
}

function withPaths(value: unknown, file: ForeignFile): unknown {
  if (Array.isArray(value)) return value.map((inner) => withPaths(inner, file))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    return [key, typeof inner === 'string' && FILES.has(key) ? file.pathTo(inner) : withPaths(inner, file)]
  })
  return Object.fromEntries(entries)
}

/** Of all places that are the same in both, the outermost first: a line has its comment once. */
function keepComments(draft: Draft, file: ForeignFile): void {
  if (!agentgateway.keepsPlaces(file.value)) return
  const seen = new Set<number>()
  const visit = (value: unknown, path: Path): void => {
    if (typeof value !== 'object' || value === null) return
    const keys: readonly (string | number)[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
    for (const key of keys) {
      const at = [...path, key]
      const line = file.lineOf(at)
      if (!seen.has(line)) draft.keep(file, at, at)
      seen.add(line)
      visit((value as Raw)[key], at)
    }
  }
  visit(file.value, [])
}

/** Policies without which nothing is more open than it was. */
const OPEN = new Set([
  ...['a2a', 'delay', 'cors', 'requestMirror', 'retry', 'timeout', 'timeouts', 'tcp', 'http', 'health', 'buffer'],
  ...['accessLog', 'tracing', 'metrics', 'inferenceRouting', 'tunnel']
])

function takesOut(path: Path): TakenOut {
  // Without its certificate a listener is another one; without its matches a route gets what is not for it.
  const narrow = path.findLastIndex(
    (key, i) => (key === 'matches' || key === 'hostnames' || key === 'tls') && isEntry(path, i)
  )
  if (narrow >= 0) return { out: path.slice(0, narrow), closed: null }
  const at = path.lastIndexOf('policies')
  const policy = path[at + 1]
  if (at < 0 || policy === undefined)
    return { out: path, closed: path[0] === 'llm' && path[1] === 'models' ? closedOf(path) : null }
  const guards = path.indexOf('promptGuard')
  if (guards >= 0) return { out: path.slice(0, guards + 1), closed: around(path, at) }
  if (policy === 'ai') return { out: path, closed: null }
  if (OPEN.has(String(policy))) return { out: path, closed: null }
  return { out: path.slice(0, at + 2), closed: around(path, at) }
}

/** "tls" of a listener, "matches" of a route: below an entry of a list of them. */
function isEntry(path: Path, i: number): boolean {
  const list = path[i - 2]
  return typeof path[i - 1] === 'number' && (path[i] === 'tls' ? list === 'listeners' : list === 'routes')
}

/** A model that asks who may call it, or what may be said. */
const closedOf = (path: Path): Path | null =>
  ['authorization', 'guardrails', 'auth', 'promptGuard'].includes(String(path[3]))
    ? ['llm', 'policies', 'authorization']
    : null

/** The policies of a backend, a provider or a target are those of the route that leads there. */
function around(path: Path, at: number): Path {
  const routes = path.lastIndexOf('routes', at)
  if (routes >= 0) return [...path.slice(0, routes + 2), 'policies', 'authorization']
  const listeners = path.lastIndexOf('listeners', at)
  if (listeners >= 0) return [...path.slice(0, listeners + 2), 'policies', 'authorization']
  return path[0] === 'llm' || path[0] === 'mcp' ? [path[0], 'policies', 'authorization'] : ['policies', 'authorization']
}
