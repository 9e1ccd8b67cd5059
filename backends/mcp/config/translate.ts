/** The file's `mcp` backends and its `mcp` shortcut -> their form in the Snapshot. */

import { addRules } from '#backends/mcp/config/add-rules.ts'
import type { McpBackend, McpHttpTarget, McpRules, McpTarget } from '#backends/mcp/config/snapshot.ts'
import type { PolicyLevels, TranslateContext } from '#engine/contract/backend-config.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import type { DocumentSources } from '#engine/contract/policy.ts'
import { addressOf } from './address.ts'
import { readDocument, serverPath } from './document.ts'
import { mergedRules } from './policies.ts'
import type { FileMcp } from './schema.ts'
import { readKey } from './session-key.ts'
import type { FileTarget, FileTargetPolicies } from './targets.ts'

const IDLE_MS = 1_800_000
const TARGET_TIMEOUT_MS = 30_000
const MESSAGE_BYTES = 8 * 1024 * 1024

/** Throws an Error for a file that cannot be read (check.ts has said where). */
export function translateMcp(file: FileMcp, { policies, levels, sources, transportOf }: TranslateContext): McpBackend {
  const { session, prefixMode = 'conditional', failureMode = 'failClosed' } = file
  const routing = file.sessionRouting ?? file.statefulMode ?? 'Stateful'
  return {
    kind: 'mcp',
    targets: file.targets.map((target) => targetOf(target, sources, transportOf)),
    sessionRouting: routing.toLowerCase() === 'stateless' ? 'Stateless' : 'Stateful',
    prefixMode,
    failureMode: failureMode.toLowerCase() === 'failopen' ? 'failOpen' : 'failClosed',
    authorization: addRules(mergedRules([levels.own]), rulesAround(levels)),
    session: {
      key: session?.key === undefined ? null : readKey(session.key, sources),
      idleMs: session?.idleTimeout ?? IDLE_MS,
      ...(session?.anonymous === undefined ? {} : { anonymous: session.anonymous })
    },
    targetTimeoutMs: file.targetTimeout ?? TARGET_TIMEOUT_MS,
    forwardHeaders: [...new Set(file.forwardHeaders ?? [])],
    messageBytesMax: file.maxMessageSize ?? MESSAGE_BYTES,
    policies
  }
}

/** What rules there are besides those of a named backend; null: none. */
export function rulesAround({ around, reference }: PolicyLevels): McpRules | null {
  return around === null ? null : mergedRules([...around, reference])
}

/** What is said of connections, with what a target says itself. */
type TransportOf = (...own: readonly (FileTargetPolicies | undefined)[]) => BackendTransport | undefined

function targetOf(file: FileTarget, sources: DocumentSources, transportOf: TransportOf): McpTarget {
  const { name, stdio, openapi, static: fixed } = file
  const sets = [file.policies, fixed?.policies]
  const authorization = addRules(...sets.map((set) => mergedRules([set])))
  const base = { name, authorization }
  if (stdio !== undefined) {
    const { cmd, args = [], env = {}, cwd = null } = stdio
    return { ...base, kind: 'stdio', cmd, args, env, cwd }
  }
  const auth = authOf(sets)
  const transport = transportOf(...sets)
  const hasTls = (transport?.tls ?? null) !== null
  const said = transport === undefined ? {} : { transport }
  if (openapi !== undefined) {
    const document = readDocument(openapi.schema, sources)
    const { path, ...place } = addressOf(openapi, hasTls)
    const prefix = (path ?? serverPath(document)).replace(/\/+$/, '')
    const { include = [], exclude = [] } = openapi.operations ?? {}
    const operations = openapi.operations === undefined ? {} : { operations: { include, exclude } }
    return { ...base, kind: 'openapi', document, ...operations, ...place, ...said, pathPrefix: prefix, auth }
  }
  if (fixed !== undefined) {
    const kind = fixed.protocol === 'SSE' ? 'sse' : 'http'
    const { host, port, path = PATHS[kind] } = fixed
    return { ...base, kind, host, port, path, hasTls, ...said, auth }
  }
  const kind = file.sse === undefined ? 'http' : 'sse'
  const { path, ...place } = addressOf((file.sse ?? file.mcp)!, hasTls)
  return { ...base, kind, ...place, ...said, path: path ?? PATHS[kind], auth }
}

/** docs/specification.md#mcp-backends. */
const PATHS = { http: '/mcp', sse: '/sse' } as const

/** RFC 9110 section 11.4: a scheme, a blank and its credentials. */
const SCHEMED = /^[A-Za-z][A-Za-z0-9-]* +[!-~]/

function authOf(sets: readonly (FileTargetPolicies | undefined)[]): McpHttpTarget['auth'] {
  const given = sets.map((set) => set?.auth ?? set?.backendAuth).find((auth) => auth !== undefined)
  if (given?.key === undefined) return null
  const { key, location } = given
  if (location?.header !== undefined) {
    return { header: location.header.name, value: `${location.header.prefix ?? ''}${key}` }
  }
  return { header: 'authorization', value: SCHEMED.test(key) ? key : `Bearer ${key}` }
}
