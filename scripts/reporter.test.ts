import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { ROOT } from './files.ts'
import reporter, { type TestEvent } from './reporter.ts'

async function report(...events: TestEvent[]): Promise<string> {
  async function* all() {
    yield* events
  }
  let text = ''
  for await (const part of reporter(all())) text += part
  return text
}

const file = join(ROOT, 'engine', 'a.test.ts')
const failure = (failureType: string, cause: unknown) =>
  Object.assign(new Error('wrapped'), { failureType, cause }) as Error & { failureType: string }

it('names a failed test with its place and why, once, and says nothing of those that pass', async () => {
  const text = await report(
    { type: 'test:pass', data: { name: 'fine', file, line: 3 } },
    {
      type: 'test:fail',
      data: { name: 'of two\n lines', file, line: 7, details: { error: failure('testCodeFailure', 'late') } }
    },
    {
      type: 'test:fail',
      data: { name: 'the suite', file, line: 1, details: { error: failure('subtestsFailed', 'one') } }
    },
    { type: 'test:diagnostic', data: { message: 'pass 1', nesting: 0 } },
    { type: 'test:diagnostic', data: { message: 'of a test', nesting: 1 } }
  )
  assert.equal(text, "not ok: of two lines (engine/a.test.ts:7)\n    'late'\n# pass 1\n")
})

it('shows the stack of an error', async () => {
  const error = failure('uncaughtException', new RangeError('outside'))
  const text = await report({ type: 'test:fail', data: { name: 'n', details: { error } } })
  assert.match(text, /^not ok: n\n {4}RangeError: outside\n {8}at /)
})
