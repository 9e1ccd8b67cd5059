/** The file's `mcp` backends and its `mcp` shortcut -> their form in the Snapshot. */

import { addRules } from '#backends/mcp/config/add-rules.ts'
import type { McpBackend, McpRules, McpTarget } from '#backends/mcp/config/snapshot.ts'
import { TARGET_KEYS } from '#backends/mcp/targets/index.ts'
import type { TargetConnection } from '#backends/mcp/targets/kind.ts'
import type { PolicyLevels, TranslateContext } from '#engine/contract/backend-config.ts'
import { mergedRules } from './policies.ts'
import type { FileMcp } from './schema.ts'
import { readKey } from './session-key.ts'
import type { TargetPolicies } from './target-policies.ts'
import type { FileTarget } from './targets.ts'

const IDLE_MS = 1_800_000
const TARGET_TIMEOUT_MS = 30_000
const MESSAGE_BYTES = 8 * 1024 * 1024

/** Throws an Error for a file that cannot be read (check.ts has reported where). */
export function translateMcp(file: FileMcp, context: TranslateContext): McpBackend {
  const { policies, levels, sources } = context
  const { session, prefixMode = 'conditional', failureMode = 'failClosed' } = file
  const routing = file.sessionRouting ?? file.statefulMode ?? 'Stateful'
  return {
    kind: 'mcp',
    targets: file.targets.map((target) => targetOf(target, context)),
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

function targetOf(file: FileTarget, { sources, transportOf, authOf }: TranslateContext): McpTarget {
  const key = TARGET_KEYS.find(({ name }) => file[name] !== undefined)!
  const value = file[key.name]
  const inner = key.hasPolicies ? (value as { readonly policies?: TargetPolicies }).policies : undefined
  const sets = [file.policies, inner]
  const authorization = addRules(...sets.map((set) => mergedRules([set])))
  const connection = (): TargetConnection => {
    const transport = transportOf(...sets)
    const hasTls = (transport?.tls ?? null) !== null
    return { auth: authOf(...sets) ?? null, hasTls, configured: transport === undefined ? {} : { transport } }
  }
  return key.translate(value as never, { name: file.name, authorization }, { sources, connection })
}
