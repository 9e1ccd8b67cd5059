/** Small policies, backends, and short ways to load a file, for the tests of this folder. */

import assert from 'node:assert/strict'
import { backends } from '#backends/index.ts'
import { FieldError, type Policy } from '#engine/contract/policy.ts'
import { duration } from '#engine/schema/duration.ts'
import { type ZodType, z } from '#engine/schema/schema.ts'
import { formatErrors, loadConfig, type SnapshotDraft } from '#engine/standalone/load.ts'

const policy = (
  name: string,
  section: Policy['section'],
  schema: ZodType,
  aliases: Policy['aliases'] = []
): Policy => ({
  name,
  section,
  schema,
  aliases,
  compile: () => ({})
})

const edits = z.strictObject({ set: z.record(z.string(), z.string()).optional() })

export const POLICIES: readonly Policy[] = [
  policy('timeouts', 'traffic', z.strictObject({ request: duration().optional() }), [
    {
      name: 'timeout',
      schema: z.strictObject({ requestTimeout: duration() }).transform((t) => ({ request: t.requestTimeout }))
    }
  ]),
  policy('headerModifiers', 'traffic', z.strictObject({ request: edits.optional(), response: edits.optional() }), [
    { name: 'requestHeaderModifier', wrap: 'request' },
    { name: 'responseHeaderModifier', wrap: 'response' }
  ]),
  policy(
    'directResponse',
    'traffic',
    z.strictObject({ status: z.int().min(200).max(599), body: z.string().optional() })
  ),
  policy('connectTimeout', 'backend', duration()),
  policy('greeting', 'frontend', z.string()),
  {
    // The text of a file takes the place of its name; only a built Runtime sees that "bad" does not do.
    ...policy('keys', 'traffic', z.strictObject({ file: z.string() }), [{ name: 'keyFile' }]),
    resolve: ({ file }: { file: string }, { readFile }) => {
      try {
        return { text: readFile(file) }
      } catch (error) {
        throw new FieldError(['file'], (error as Error).message)
      }
    },
    compile: ({ text }: { text: string }) => {
      if (text === 'bad') throw new Error('does not do')
      return {}
    }
  },
  {
    ...policy('prefixOnly', 'traffic', z.string()),
    compile: (_config, { matches }) => {
      const odd = matches.find(({ kind }) => kind !== 'prefix')
      if (odd !== undefined) throw new Error(`needs prefix matches, not ${odd.kind} ${odd.path}`)
      return {}
    }
  }
]

type Env = Readonly<Record<string, string | undefined>>

/** The Snapshot of a file that must be good. */
export function good(text: string, env: Env = {}): SnapshotDraft {
  const result = load(text, env)
  if (!result.ok) assert.fail(formatErrors(result.errors))
  return result.snapshot
}

export function warningsOf(text: string): readonly string[] {
  const result = load(text, {})
  if (!result.ok) assert.fail(formatErrors(result.errors))
  return result.warnings
}

/** "line:column: path: message" of every mistake; `hints` adds theirs. */
export function mistakes(text: string, env: Env = {}): string[] {
  const result = load(text, env)
  assert.equal(result.ok, false, 'the file is accepted')
  if (result.ok) return []
  return result.errors.map(({ line, column, path, message }) => `${line}:${column}: ${path}: ${message}`)
}

export function hints(text: string, env: Env = {}): (string | undefined)[] {
  const result = load(text, env)
  assert.equal(result.ok, false, 'the file is accepted')
  return result.ok ? [] : result.errors.map(({ hint }) => hint)
}

export function load(text: string, env: Env) {
  return loadConfig(text, { file: 'weir.yaml', env, policies: POLICIES, backends, processors: 8 })
}

/** A file with one route; `route` is its YAML in flow style, without the braces. */
export function withRoute(route: string, more = ''): string {
  return `binds: [{ port: 3000, listeners: [{ routes: [{ ${route} }] }] }]\n${more}`
}
