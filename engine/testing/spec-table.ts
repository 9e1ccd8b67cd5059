/** Walks a table of the specification through the file's own validation: what is accepted, and what is not. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

/** Refused: the value, and how "path: message" of its one mistake begins, from the table's place on. */
export type Row = readonly [
  accepted: readonly unknown[],
  refused: readonly (readonly [value: unknown, problem: string])[]
]
export type Table = Readonly<Record<string, Row>>

export interface Place {
  /** What stands before every path. */
  readonly path: string
  readonly file: (value: unknown) => object
}

export const ROUTE: Place = {
  path: 'binds[0].listeners[0].routes[0].policies.',
  file: (value) => ({ binds: [{ port: 80, listeners: [{ routes: [{ policies: value }] }] }] })
}

export const FRONTEND: Place = {
  path: 'frontendPolicies.',
  file: (value) => ({ frontendPolicies: value, binds: [] })
}

/** One test per row. */
/** Of a backend at the top of the file. */
export const BACKEND: Place = {
  path: 'backends[0].policies.',
  file: (policies) => ({ backends: [{ name: 'b', host: 'a:1', policies }] })
}

export function walk(table: Table, { path, file }: Place): void {
  for (const [name, [accepted, refused]] of Object.entries(table)) {
    test(name, () => {
      for (const value of accepted) assert.deepEqual(fileProblems(file(value)), [], brief(value))
      for (const [value, problem] of refused) {
        const found = fileProblems(file(value))
        assert.equal(found.length, 1, `${brief(value)}\n${found.join('\n')}`)
        assert.ok(found[0]!.startsWith(path + problem), `${brief(value)}\n${found[0]}\n${path}${problem}`)
      }
    })
  }
}

/** "path: message" of every mistake of a file, given as a value. */
export function fileProblems(file: object): string[] {
  // A dollar sign of a value would be a variable of the environment.
  const text = JSON.stringify(file).replaceAll('$', '$$$$')
  const result = loadConfig(text, { file: 'weir.yaml', env: {}, policies, backends, processors: 1 })
  return result.ok ? [] : result.errors.map(({ path, message }) => `${path}: ${message}`)
}

function brief(value: unknown): string {
  return JSON.stringify(value).slice(0, 160)
}

// --- values at the edge of a constraint ---

export const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
export const letters = (count: number) => 'a'.repeat(count)
export const names = (count: number) => times(count, (i) => `x-${i}`)
/** A CEL expression of so many characters. */
export const cel = (count: number) => `"${letters(count - 2)}"`

export const NAME_LONG = 'must have at most 256 characters'
export const NO_DURATION = 'must be a duration such as "30s", "1m30s" or "250ms"'
