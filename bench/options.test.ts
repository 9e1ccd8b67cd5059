import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PARTS, parseOptions } from './options.ts'

const KNOWN = { workloads: ['get-1k', 'sse-200'], peers: ['nginx', 'weir'] }
const parse = (...args: string[]) => parseOptions(args, KNOWN)

test('without options everything runs and is saved', () => {
  const expected = {
    action: 'run',
    quick: false,
    parts: PARTS,
    only: [],
    peers: [],
    rounds: null,
    save: true,
    soak: null,
    turns: false
  }
  assert.deepEqual(parse(), expected)
})

test('naming workloads leaves the other parts out', () => {
  assert.deepEqual(parse('--only', 'get-1k,sse-200').only, ['get-1k', 'sse-200'])
  assert.deepEqual(parse('--only', 'get-1k').parts, ['load'])
  assert.deepEqual(parse('--only=get-1k', '--part=gc,load').parts, ['gc', 'load'])
})

test('options are read', () => {
  assert.equal(parse('--quick', '--no-save').quick, true)
  assert.equal(parse('--no-save').save, false)
  assert.equal(parse('--rounds', '7').rounds, 7)
  assert.deepEqual(parse('--peers', 'weir, nginx').peers, ['weir', 'nginx'])
  assert.equal(parse('--list').action, 'list')
  assert.equal(parse('--list', '--help').action, 'help')
})

test('mistakes are refused with what is allowed', () => {
  assert.throws(() => parse('--only', 'get-2k'), /--only: unknown get-2k; there are get-1k, sse-200/)
  assert.throws(() => parse('--peers', 'caddy'), /--peers: unknown caddy; there are nginx, weir/)
  assert.throws(() => parse('--part', 'all'), /--part: unknown all/)
  for (const rounds of ['0', '-1', '1.5', 'x']) assert.throws(() => parse(`--rounds=${rounds}`), /--rounds/)
  assert.throws(() => parse('--fast'), /--fast/)
})
