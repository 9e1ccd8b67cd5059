import assert from 'node:assert/strict'
import { test } from 'node:test'
import { field, quoted, textValue, timestamp } from './escape.ts'
import { parseLevels } from './levels.ts'
import { createLogger } from './log.ts'

/** Everything that has ever ended or steered a line somewhere. */
const HOSTILE = 'a\r\nlevel=error "x" \\ \t\0\x1b[2J\x7f\x85\u2028\u{1f600}\ud800é='

test('no value leaves its field, in text or in JSON', () => {
  for (const format of ['text', 'json'] as const) {
    const lines: string[] = []
    const logger = createLogger({ level: 'info', format, write: (line) => lines.push(line) })
    logger.log('info', 'test', HOSTILE, { value: HOSTILE })
    assert.match(lines[0]!, /^[ -~]+\n$/, 'one line of printable ASCII')
    if (format === 'json') {
      const parsed = JSON.parse(lines[0]!)
      assert.equal(parsed.message, HOSTILE)
      assert.equal(parsed.value, HOSTILE)
    } else {
      const unquoted = lines[0]!.replace(/"(?:[^"\\]|\\.)*"/g, '')
      assert.equal(unquoted.match(/level=/g)!.length, 1, 'the forged field stays between quotes')
      assert.ok(lines[0]!.endsWith(` value=${quoted(HOSTILE, 999)}\n`))
    }
  }
})

test('every character survives quoting, and every result is printable ASCII', () => {
  for (let code = 0; code < 0x3000; code++) {
    const value = `a${String.fromCharCode(code)}b`
    const text = quoted(value, 99)
    assert.match(text, /^[ -~]+$/)
    assert.equal(JSON.parse(text), value)
    const bare = textValue(value, 99)
    assert.ok(bare === text || bare === value)
    if (bare === value) assert.match(bare, /^[^\s"=\\]+$/)
  }
  assert.equal(textValue('', 99), '""')
})

test('a value that is too long is cut, whatever its escapes cost', () => {
  assert.equal(quoted('x'.repeat(20), 20), `"${'x'.repeat(20)}"`)
  assert.equal(quoted('x'.repeat(21), 20), `"${'x'.repeat(17)}..."`)
  assert.equal(textValue('x'.repeat(21), 20), `"${'x'.repeat(17)}..."`)
  for (const c of ['\0', '"', '\u2028']) {
    const text = quoted(c.repeat(200), 100)
    assert.ok(text.length <= 102)
    assert.match(JSON.parse(text), /\.\.\.$/)
  }
})

test('numbers, booleans and absent values', () => {
  assert.equal(field('text', 'n', 1.5, 9), ' n=1.5')
  assert.equal(field('json', 'n', 1.5, 9), ',"n":1.5')
  assert.equal(field('json', 'n', Number.NaN, 9), ',"n":null')
  assert.equal(field('json', 'ok', true, 9), ',"ok":true')
  assert.equal(field('text', 'none', undefined, 9), '')
})

test('time stamps are ISO 8601 with milliseconds, also across seconds', () => {
  for (const ms of [0, 7, 45, 999, 1000, 1_700_000_000_123, 1_700_000_001_000, 5]) {
    assert.equal(timestamp(ms), new Date(ms).toISOString())
  }
})

test('directives choose by target, the most specific first', () => {
  const levels = parseLevels('warn, upstream=debug,upstream.dns=off,request=off')
  assert.equal(levels.wants('info', 'reload'), false)
  assert.equal(levels.wants('warn', 'reload'), true)
  assert.equal(levels.wants('debug', 'upstream'), true)
  assert.equal(levels.wants('debug', 'upstream.pool'), true)
  assert.equal(levels.wants('debug', 'upstreams'), false)
  assert.equal(levels.wants('error', 'upstream.dns'), false)
  assert.equal(levels.wants('error', 'request'), false)
  assert.equal(parseLevels('upstream=debug').wants('info', 'reload'), true, 'info without a default of its own')
  assert.equal(parseLevels('info,warn').wants('info', 'reload'), false, 'the later one wins')
  assert.equal(parseLevels('OFF').wants('error', 'reload'), false)
})

test('malformed directives are refused by name', () => {
  for (const bad of ['inof', '', 'info,', 'a=b', '=info', 'a b=info', 'upstream']) {
    assert.throws(
      () => parseLevels(bad),
      /is not LEVEL or TARGET=LEVEL; levels: off, error, warn, info, debug, trace/,
      bad
    )
  }
  assert.throws(() => parseLevels('a=info,'.repeat(65)), /more than 64 directives/)
})

test('the level changes at run time, and a bad one changes nothing', () => {
  const lines: string[] = []
  const logger = createLogger({ level: 'info', format: 'text', write: (line) => lines.push(line) })
  logger.log('debug', 'a', 'one')
  logger.setLevel('debug')
  logger.log('debug', 'a', 'two')
  assert.throws(() => logger.setLevel('loud'))
  logger.log('debug', 'a', 'three')
  assert.equal(logger.level(), 'debug')
  assert.deepEqual(
    lines.map((line) => /message=(\w+)/.exec(line)![1]),
    ['two', 'three']
  )
})

test('common fields stand on every line, in order', () => {
  const lines: string[] = []
  const write = (line: string) => lines.push(line)
  createLogger({ level: 'info', format: 'text', fields: { worker: 3 }, write }).log('warn', 'reload', 'it failed', {
    at: 'a.yaml:1'
  })
  assert.match(lines[0]!, /^time=\S+Z level=warn target=reload message="it failed" worker=3 at=a.yaml:1\n$/)
})

test('the next written line reports lines that stderr did not take', () => {
  const lines: string[] = []
  let broken = true
  const write = (line: string) => {
    if (broken) throw new Error('EAGAIN')
    lines.push(line)
  }
  const logger = createLogger({ level: 'info', format: 'text', write })
  logger.log('info', 'a', 'one')
  logger.log('info', 'a', 'two')
  broken = false
  logger.log('info', 'a', 'three')
  logger.log('info', 'a', 'four')
  assert.match(lines[0]!, /message=three lost=2\n$/)
  assert.match(lines[1]!, /message=four\n$/)
})
