import { deepEqual, equal } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { curlOf, headersOf } from './request.ts'

test('headers are lines', () => {
  deepEqual(headersOf('x-team: red\n\n  a:b:c \nbroken'), [
    ['x-team', 'red'],
    ['a', 'b:c'],
    ['broken', '']
  ])
})

test('a command has each part as it is, whatever a shell makes of its characters', () => {
  const url = 'http://localhost:8080/a?b=1&c=$HOME'
  equal(
    curlOf({ method: 'GET', url: 'http://localhost:8080/a', headers: [], body: '' }),
    'curl -i http://localhost:8080/a'
  )
  const command = curlOf({
    method: 'PUT',
    url,
    headers: [
      ['x-a', 'it\'s `b` "c" $d'],
      ['x-empty', '']
    ],
    body: '{"a":"\'!\\n"}'
  })
  const words = execFileSync('sh', ['-c', command.replace(/^curl/, 'printf "%s\\n"')], { encoding: 'utf8' })
  deepEqual(words.split('\n').slice(0, -1), [
    ...['-i', '-X', 'PUT', url, '-H', 'x-a: it\'s `b` "c" $d', '-H', 'x-empty;', '--data-raw', '{"a":"\'!\\n"}']
  ])
  equal(curlOf({ method: 'HEAD', url: 'http://a/', headers: [], body: '' }), 'curl -i --head http://a/')
  equal(curlOf({ method: 'POST', url: 'http://a/', headers: [], body: '' }), 'curl -i -X POST http://a/')
})
