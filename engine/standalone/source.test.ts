import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { backends } from '#backends/index.ts'
import { loadConfig } from './load.ts'
import { readSource } from './source.ts'
import { hints, mistakes, POLICIES, warningsOf } from './testing/fakes.ts'

test('traps of YAML are mistakes with a place, and never exceptions', () => {
  const table: [text: string, message: RegExp][] = [
    ['', /^1:1: : the file is empty$/],
    ['# nothing', /^1:1: : the file is empty$/],
    ['binds: []\nbinds: []', /^2:1: binds: is given twice$/],
    ['config: { a: { b: 1, "b": 2 } }', /^1:22: config.a.b: is given twice$/],
    ['config:\n\tadminAddr: x', /^2:1: : tabs cannot indent YAML: use spaces$/],
    ['config: *nobody', /^1:9: config: there is no anchor "nobody" above this alias$/],
    ['config: &c { logging: *c }', /^1:23: config.logging: the alias "c" stands inside of what it repeats$/],
    ['config: !secret x', /^1:9: config: the tag !secret is not supported$/],
    ['config: !!binary aGk=', /^1:18: config: the tag tag:yaml.org,2002:binary is not supported$/],
    ['config: !!set { a }', /^1:15: config: the tag tag:yaml.org,2002:set is not supported$/],
    ['a: 1\n---\nb: 2', /^2:1: : a configuration is one YAML document, this begins a second one$/],
    ['a: 1\nb: \uFFFD', /^2:4: : is not UTF-8 text$/],
    ['\uFFFD\uFFFDb\0', /^1:1: : is not UTF-8 text$/],
    ['? [a]\n: 1', /^1:3: : a key must be a plain word$/],
    ['? \n: 1', /^1:\d+: : a key must be a plain word$/],
    ['__proto__: {}', /^1:1: __proto__: is not allowed as a key$/],
    ['<<: { binds: [] }', /^1:1: \["<<"\]: is not a known key$/],
    ['a: b: c', /^1:4: : has ": " in a text without quotes/],
    ['"a', /^1:1: : the quote \("\) that stands here is not closed$/],
    ['{"binds": [', /^1:11: : the \[ that stands here is not closed$/],
    ['5', /^1:1: : must be an object with .*binds.*, not 5$/],
    ['[]', /^1:1: : must be an object with .*binds.*, not a list$/],
    ['binds: 5', /^1:8: binds: must be a list, not 5: put it in brackets$/],
    ['binds:', /^1:1: binds: is empty: must be a list \(each entry begins with "- "\)$/],
    ['binds: [{ port: 1, listeners: [{ name: 5 }] }]', /^1:40: .*name: must be a text, not 5: put it in quotes$/],
    ['binds: [{ port: .inf, listeners: [{}] }]', /port: must be a whole number/],
    ['[: '.repeat(3000), /^1:\d+: : is nested too deeply$/],
    [`a: ${'['.repeat(150)}${']'.repeat(150)}`, /a.*: is nested deeper than 100 levels$/],
    [' '.repeat(16 * 1024 * 1024 + 1), /^1:1: : is larger than 16777216 characters$/]
  ]
  for (const [text, message] of table) {
    const all = mistakes(text)
    assert.ok(
      all.some((mistake) => message.test(mistake)),
      `${text.slice(0, 60)}\n${all.slice(0, 5).join('\n')}`
    )
  }
})

test('a syntax error is reported where it is to be mended, with a line on how', () => {
  const listener = (lines: string) => `binds:\n- port: 3000\n  listeners:\n  - ${lines}\n`
  const table: [text: string, place: string, message: RegExp, hint: RegExp][] = [
    // The parser reports the end of the line, of the file, and the line behind.
    [
      listener('name: "main\n    hostname: a\n    routes: ["b"]'),
      '4:11',
      /^the quote \("\) .* not closed$/,
      /^put " at/
    ],
    [
      listener("name: 'main\n    hostname: a\n    routes: []"),
      '4:11',
      /^the quote \('\) .* not closed$/,
      /written ''$/
    ],
    [listener('name: "a: 1\n       x: 1\n  - name: "b"'), '4:11', /^the quote/, /^put "/],
    ['{"binds": [{ "name": "a,\n "hostname": "x" }]}', '1:22', /^the quote/, /^put "/],
    // A text of two lines is none.
    [
      listener('name: "a\n       x: 1"\n    routes: [{ a: c: d }]'),
      '6:19',
      /^has ": " in a text/,
      /^put the text in q/
    ],
    [
      'binds: [{ port: 3000, listeners: [{ routes: [] }]\n',
      '1:9',
      /^the \{ that stands here is not closed$/,
      /^put \}/
    ],
    [listener('routes: [{ name: a }\n    name: b\n    hostname: c'), '4:13', /^the \[ .* not closed$/, /^put \]/],
    [listener('hostname: *.example.com'), '4:15', /^without quotes, \* begins an alias/, /: "\*\.example\.com"$/],
    [listener('routes: [{ hostnames: [*.a.com] }]'), '4:28', /^without quotes, \*/, /: "\*\.a\.com"$/],
    [listener('routes:\n    - hostnames:\n      - *'), '6:9', /^without quotes, \* begins an alias/, /: "\*"$/],
    [listener('name: !jwt.sub'), '4:11', /^the tag !jwt\.sub is not supported$/, /begins with "!"/],
    [listener('name: a\n    routes:'), '5:5', /^is empty: must be a list/, /^write what belongs here/],
    ['binds:\n- port: 1\n  listeners: [{}]\n  port: 2', '4:3', /^is given twice$/, /^the first is in line 2/],
    [listener('name: hello: world'), '4:11', /^has ": " in a text without quotes/, /^put the text in quotes/],
    [listener('name: @a'), '4:11', /^a text that begins with @ needs quotes/, /"@\.\.\."$/],
    [listener('name: "a\\d"'), '4:13', /^invalid escape sequence \\d$/, /^in double quotes a backslash/],
    [listener('name: [::1]:80'), '4:16', /^stands behind a value that has ended$/, /^a value that begins with \[/],
    [listener('name: a\n   routes: []'), '5:4', /^is indented like nothing above it$/, /^begin the line/],
    [listener('name main\n    routes: []'), '4:5', /^is neither a key nor a value$/, /space behind the colon$/],
    [listener('name:main\n    routes: []'), '4:5', /^is neither a key nor a value$/, /space behind the colon$/]
  ]
  for (const [text, place, message, hint] of table) {
    assert.equal(mistakes(text).length, 1, mistakes(text).join('\n'))
    const [, at, found] = /^(\d+:\d+): (?:\S+: |: )?(.*)$/.exec(mistakes(text)[0]!)!
    assert.equal(at, place, text)
    assert.match(found!.replace(/^\S*\]\S*: /, ''), message)
    assert.match(hints(text)[0] ?? '', hint)
  }
})

test('the message for a wrong value from a variable names the variable and does not show the value', () => {
  const text = 'binds: [{ port: $P, listeners: [{ name: "x$N", hostname: a }] }]'
  const env = { P: 'canary: [', N: ' "canary' }
  assert.deepEqual(hints(text, env), ['here stands the value of $P', 'here stands the value of $N'])
  assert.ok(!mistakes(text, env).join().includes('canary'))
})

test('an alias repeats a value; mistakes in it have the place where it is written', () => {
  const text = 'binds:\n- port: 80\n  listeners: &l [{ nam: x }]\n- port: 81\n  listeners: *l\n'
  assert.deepEqual(mistakes(text), [
    '3:20: binds[0].listeners[0].nam: is not a known key',
    '3:20: binds[1].listeners[0].nam: is not a known key'
  ])
})

test('an alias bomb is refused before it is expanded', () => {
  const levels = Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(', ')}]`)
  const text = `a0: &a0 [1, 2]\n${levels.join('\n')}`
  const all = mistakes(text)
  assert.equal(all.length, 1)
  assert.match(all[0]!, /^\d+:\d+: a\d+\[\d\]: aliases add more than 100000 values$/)
})

test('words are YAML 1.2 words', () => {
  const { value } = readSource('[yes, no, on, off, 012, 0o17, 0x1f, 1_000, ~, 2001-01-01, 1:30]', {})
  assert.deepEqual(value, ['yes', 'no', 'on', 'off', 12, 15, 31, '1_000', null, '2001-01-01', '1:30'])
})

test('a doubt of the parser is a warning', () => {
  assert.match(warningsOf('%YAML 1.3\n---\nbinds: []')[0]!, /^weir\.yaml:1:7: Unsupported YAML version 1\.3/)
})

test('byte order marks and Windows line ends keep their lines', () => {
  assert.deepEqual(mistakes('\ufeffbinds: []\r\nfoo: 1\r\n'), ['2:1: foo: is not a known key'])
})

test('whatever the text is, loading ends with a Snapshot or with mistakes that have a place', () => {
  const word = fc.constantFrom(
    'binds',
    'port',
    ': ',
    ':\n  ',
    '\n- ',
    '{',
    '}',
    '[',
    ']',
    '$A',
    '${',
    '&a ',
    '*a',
    '"',
    '80',
    '\t',
    '#',
    '|\n',
    '!!x ',
    ',',
    '? '
  )
  const text = fc.array(fc.oneof({ weight: 5, arbitrary: word }, fc.string({ maxLength: 5 })), { maxLength: 30 })
  fc.assert(
    fc.property(text, (parts) => {
      const result = loadConfig(parts.join(''), {
        file: 'f',
        env: { A: 'b: c' },
        policies: POLICIES,
        backends,
        processors: 1
      })
      if (result.ok) return
      assert.notEqual(result.errors.length, 0)
      for (const { line, column, message } of result.errors) assert.ok(line >= 1 && column >= 1 && message !== '')
    }),
    { numRuns: 500 }
  )
})
