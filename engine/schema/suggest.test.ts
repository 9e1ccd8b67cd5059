import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearest, wordHint } from './suggest.ts'

test('slips of the keyboard are recognised, other words are not', () => {
  const words = ['listeners', 'port', 'pathPrefix', 'exact']
  const table: [word: string, meant: string | null][] = [
    ['listner', 'listeners'],
    ['prot', 'port'],
    ['PORT', 'port'],
    ['path_prefix', 'pathPrefix'],
    ['pathprefix', 'pathPrefix'],
    ['exakt', 'exact'],
    ['x', null],
    ['certificate', null],
    ['', null],
    ['a'.repeat(10_000), null]
  ]
  for (const [word, meant] of table) assert.equal(nearest(word, words), meant, word)
})

test('a neutral word stands for the real one', () => {
  assert.equal(nearest('typeA', ['anthropic', 'openai']), 'openai')
  assert.equal(wordHint('IdpB', ['Auth0', 'Keycloak']), 'did you mean "Keycloak"? allowed: Auth0, Keycloak')
})

test('without words there is nothing to say', () => {
  assert.equal(wordHint('a', []), undefined)
})
