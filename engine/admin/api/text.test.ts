import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { Api } from './api.ts'
import { type Applied, type ConfigTexts, textOperations } from './text.ts'

const PATH = '/api/v1/configuration'

function stand(outcome: Applied | null) {
  const applied: (readonly [string, string])[] = []
  const texts: ConfigTexts = {
    shown: () => ({ file: 'w.yaml', text: null, textHash: null, isWritable: false, why: 'it is not UTF-8' }),
    apply: async (...args) => {
      applied.push(args)
      return outcome!
    },
    versions: () => [],
    version: (id) => (id === 'old' ? 'old text' : null)
  }
  const api = new Api(textOperations(outcome === null ? {} : { texts }))
  const ask = async (method: string, path: string, body: unknown = undefined) => {
    const reply = await api.answer({
      ...{ method, path: PATH + path, query: new URLSearchParams(), headers: { 'content-type': 'application/json' } },
      body: async () => Buffer.from(JSON.stringify(body) ?? '')
    })
    return { status: reply!.status, json: JSON.parse(reply!.body) }
  }
  return { ask, applied }
}

const APPLIED: Applied = { kind: 'applied', textHash: 'b', hash: 'c', warnings: ['w'] }
const mistake = (line: number) => ({ line, column: 2, path: 'binds', message: 'is missing', hint: 'add it' })

for (const [outcome, status, code, message] of [
  [{ kind: 'changed' }, 409, 'CHANGED', /read it again/],
  [{ kind: 'unknownMask' }, 422, 'INVALID', /write it anew/],
  [{ kind: 'notWritable', why: 'its folder is read-only' }, 409, 'NOT_WRITABLE', /its folder is read-only/],
  [{ kind: 'notInForce', why: 'port 80 is taken' }, 409, 'NOT_IN_FORCE', /nothing has changed: port 80 is taken/],
  [{ kind: 'wrong', errors: [mistake(1)] }, 422, 'INVALID', /^1:2: binds: is missing; add it$/],
  [{ kind: 'wrong', errors: [1, 2, 3, 4, 5, 6, 7].map(mistake) }, 422, 'INVALID', /\nand 2 more: /]
] as const satisfies readonly (readonly [Applied, number, string, RegExp])[]) {
  test(`a text that is ${outcome.kind} says so: ${message.source}`, async () => {
    const { ask, applied } = stand(outcome)
    const refused = await ask('PUT', '/text', { text: 'x', textHash: 'a' })
    deepEqual([refused.status, refused.json.error.code], [status, code])
    match(refused.json.error.message, message)
    deepEqual(applied, [['x', 'a']])
  })
}

test('a text, and a version, are put in place of what the caller has read', async () => {
  const { ask, applied } = stand(APPLIED)
  deepEqual((await ask('PUT', '/text', { text: 'x', textHash: 'a' })).json, {
    ...{ textHash: 'b', hash: 'c', warnings: ['w'] }
  })
  equal((await ask('POST', '/versions/old/restore', { textHash: 'a' })).status, 200)
  deepEqual(applied, [
    ['x', 'a'],
    ['old text', 'a']
  ])
  equal((await ask('POST', '/versions/none/restore', { textHash: 'a' })).status, 404)
  equal((await ask('GET', '/versions/none')).status, 404)
  deepEqual((await ask('GET', '/versions/old')).json, { id: 'old', text: 'old text' })
})

test('what is no text is not written, and what comes from a controller says so', async () => {
  const { ask, applied } = stand(APPLIED)
  for (const body of [{}, { text: 1, textHash: 'a' }, { text: 'x' }, { text: 'x', textHash: 'a', force: true }, []])
    equal((await ask('PUT', '/text', body)).status, 400)
  equal((await ask('POST', '/versions/old/restore', {})).status, 400)
  deepEqual(applied, [])
  const remote = stand(null)
  for (const [method, path] of [
    ['GET', '/text'],
    ['PUT', '/text'],
    ['GET', '/versions'],
    ['GET', '/versions/1'],
    ['POST', '/versions/1/restore']
  ] as const) {
    const refused = await remote.ask(method, path, {})
    deepEqual([refused.status, refused.json.error.code], [409, 'NOT_A_FILE'], path)
  }
})
