import { equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { Masks } from './masked-text.ts'

const TEXT = `# was: sk-live-0123456789abcdef, and hunter2-of-all
llm:
  models:
    - name: m
      params: { apiKey: "hunter2-of-all", baseUrl: http://a/v1 }
    - name: n
      params: { apiKey: $OPENAI_KEY }
keys:
  - name: bob
    key: correct horse
config:
  state: { url: 'redis://:pass-word@db/0' }
tls:
  key: |
    -----BEGIN PRIVATE KEY-----
    abc
    -----END PRIVATE KEY-----
  cert: a.pem
pin: { password: 12345, port: 8080 }
`

test('secrets are masks, the same one for the same secret, and come back', () => {
  const masks = new Masks()
  const shown = masks.masked(TEXT)!
  for (const part of ['0123456789abcdef', 'hunter2', 'correct', 'pass-word', 'abc\n', '12345'])
    ok(!shown.includes(part), `${part} is in ${shown}`)
  for (const part of ['name: bob', '$OPENAI_KEY', 'http://a/v1', 'port: 8080', 'cert: a.pem', '\n  cert'])
    ok(shown.includes(part), `${part} is not in ${shown}`)
  equal(masks.unmasked(shown, [TEXT]), TEXT)
  const added = shown.replace('name: bob', 'name: bobby')
  equal(masks.unmasked(added, [TEXT]), TEXT.replace('name: bob', 'name: bobby'))
})

test('a secret of another text comes back from there, one of no text does not', () => {
  const masks = new Masks()
  const old = masks.masked('a: { password: gone-by-now }')!
  match(old, /^a: \{ password: <secret-[0-9a-f]{16}> \}$/)
  equal(masks.unmasked(old, [TEXT, 'a: { password: gone-by-now }']), 'a: { password: gone-by-now }')
  equal(masks.unmasked(old, [TEXT]), null)
  equal(new Masks().unmasked(old, ['a: { password: gone-by-now }']), null)
  equal(masks.unmasked('a: 1', []), 'a: 1')
})

test('what is no YAML is not shown', () => {
  equal(new Masks().masked('a: [\n'), null)
  equal(new Masks().masked('a: "b'), null)
})

test('JSON, several documents, aliases, and an empty text', () => {
  const masks = new Masks()
  for (const text of [
    '{"token": "t0p-secret"}',
    'sk-t0p0123456789abcdef: 1',
    'a: 1\n---\nsecret: b\n',
    'secret: &x abcdefg\nb: *x\n',
    'b: &x abcdefg\nsecret: *x\n',
    ''
  ]) {
    const shown = masks.masked(text)!
    ok(!/t0p|: b\n|abcdefg/.test(shown), shown)
    equal(masks.unmasked(shown, [text]), text)
  }
})
