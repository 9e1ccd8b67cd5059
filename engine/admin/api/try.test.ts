import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { tryOperations } from './try.ts'

const operations = new Map(tryOperations().map((operation) => [operation.id, operation]))

async function ask(id: string, body: unknown) {
  const request = { method: 'POST', path: '', query: new URLSearchParams(), headers: {}, body: async () => Buffer.of() }
  const reply = await operations.get(id)!.answer({ request, names: {}, body })
  return { status: reply.status, body: JSON.parse(reply.body) }
}

test('an expression: its value, or its mistakes', async () => {
  const sample = { request: { url: 'http://a.test/b' } }
  const good = await ask('tryExpression', { expression: 'request.path', place: 'request', sample })
  deepEqual([good.status, good.body.value], [200, '/b'])
  const bad = await ask('tryExpression', { expression: 'request.pth', sample })
  deepEqual([bad.status, bad.body.ok, bad.body.problems[0].column], [200, false, 9])
  const wrong = await ask('tryExpression', { expression: 'true', place: 'nowhere' })
  deepEqual([wrong.status, wrong.body.error.field], [400, 'place'])
})

test('a guard: what is found, where, and what a model would get', async () => {
  const text = 'Zoë 🙂 has 123-45-6789 and id-42'
  const { body } = await ask('tryGuard', { text, builtins: ['Ssn'], matches: ['id-[0-9]+'] })
  equal(body.masked, 'Zoë 🙂 has <SSN> and <masked>')
  deepEqual(
    body.found.map(({ start, end }: { start: number; end: number }) => text.slice(start, end)),
    ['123-45-6789', 'id-42']
  )
  const broken = await ask('tryGuard', { text: '', matches: ['a', '('] })
  deepEqual([broken.status, broken.body.error.field], [400, 'matches.1'])
  match(broken.body.error.message, /is no RE2 expression/)
  ok((await ask('tryGuard', { text: 'x'.repeat(16_385) })).status === 400)
})
