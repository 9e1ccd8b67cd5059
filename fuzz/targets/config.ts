/**
 * The loader of configuration files: whatever the text is, it ends with a Snapshot that can be sent
 * to workers, or with mistakes that all have a place in the text.
 */

import assert from 'node:assert/strict'
import { backends } from '#backends/index.ts'
import { formatErrors, loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

export const name = 'config'
export const dictionary = [
  ...['binds', 'listeners', 'routes', 'matches', 'policies', 'backends', 'frontendPolicies', 'config', 'host', 'path'],
  ...['exact: ', 'pathPrefix: ', 'regex: ', '\n- ', '\n  ', ': ', '{', '}', '[', ']', '"', "'", '#', '|\n', '>-\n'],
  ...['$A', '$$', '${', 'A}', 'B:-', '}', '&a ', '*a', '!!str ', '!x ', '<<: ', '? ', '---\n', '\t', '\ue000', '\ufeff']
]

const env = { A: '8080', EMPTY: '', ODD: 'a: [b] # {c}\n"' }

export function run(data: Buffer): void {
  const text = data.toString('utf8')
  const result = loadConfig(text, { file: 'fuzz.yaml', env, policies, backends, processors: 2 })
  if (result.ok) {
    structuredClone(result.snapshot)
    return
  }
  assert.notEqual(result.errors.length, 0, 'refused without a reason')
  const lines = text.split(/\r\n|[\r\n]/).length
  for (const { line, column, message } of result.errors) {
    assert.ok(Number.isInteger(line) && line >= 1 && line <= lines, `line ${line} of ${lines}`)
    assert.ok(Number.isInteger(column) && column >= 1 && column <= text.length + 1, `column ${column}`)
    assert.notEqual(message, '')
  }
  formatErrors(result.errors)
}
