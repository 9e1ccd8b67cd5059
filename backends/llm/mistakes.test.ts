/** What people get wrong in a file with models: what they are told, and where. */
import { deepEqual, match } from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

function mistakes(config: object): string[] {
  const options = { file: 'f', env: {}, policies, folder: '.', processors: 1 }
  const result = loadConfig(JSON.stringify(config), options)
  return result.ok ? [] : result.errors.map(({ path, message }) => `${path}: ${message}`)
}

function inAi(ai: object): string[] {
  const found = mistakes({ binds: [{ port: 1, listeners: [{ routes: [{ backends: [{ ai }] }] }] }] })
  return found.map((text) => text.replace('binds[0].listeners[0].routes[0].backends[0].', ''))
}

const PROVIDER = { openai: {} }

test('each second provider of a name is told where it stands', () => {
  const group = (...names: string[]) => ({ providers: names.map((name) => ({ name, openai: {} })) })
  deepEqual(inAi({ groups: [group('a', 'b'), group('c', 'a'), group('b')] }), [
    'ai.groups[1].providers[1].name: two providers are called a',
    'ai.groups[2].providers[0].name: two providers are called b'
  ])
})

test('a provider that is only a word, and guards that see nothing, are told with what to do', () => {
  deepEqual(inAi({ provider: 'openai' }), ['ai.provider: must be an object, such as { openai: ... }, not a text'])
  deepEqual(inAi({ provider: 'sk-secret' }), ['ai.provider: must be an object, not a text'])
  const promptGuard = { request: [{ regex: { builtins: ['Ssn'] } }] }
  deepEqual(inAi({ provider: PROVIDER, routes: { '/e': 'Embeddings' }, promptGuard }), [
    'ai.promptGuard: prompt guards cannot see what passes as Embeddings (route /e); that needs a backend without them'
  ])
})
