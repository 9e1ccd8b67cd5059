/** `weir cel`, in the whole program. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readArguments } from '#engine/process/cli.ts'

const START = new URL('../start.ts', import.meta.url).pathname

function cel(args: readonly string[], input = '') {
  const all = ['--disable-warning=ExperimentalWarning', START, 'cel', ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, all, { input, encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('a value, from a file, the standard input or the command line', () => {
  const sample = JSON.stringify({ request: { url: 'http://a.test/b' }, jwt: { roles: ['admin'] } })
  const file = join(tmpdir(), `weir-cel-${process.pid}.json`)
  writeFileSync(file, sample)
  for (const [args, input] of [
    [['-s', sample], ''],
    [['-s', `@${file}`], ''],
    [['-s', '@-'], sample]
  ] as const) {
    deepEqual(cel(['request.path', ...args], input), { status: 0, stdout: '"/b"\n', stderr: '' })
  }
  equal(cel(['"admin" in jwt.roles', '-s', sample]).status, 0)
  equal(cel(['"root" in jwt.roles', '-s', sample]).status, 1)
  const { status, stdout } = cel(['jwt.roles', '-s', sample, '--json'])
  const result = JSON.parse(stdout)
  deepEqual([status, result.value, result.valueType], [0, ['admin'], 'list'])
})

test('mistakes are marked in their line; what is not there is named', () => {
  const wrong = cel(['jwt.sub == "ann" &&\n request.pth'])
  equal(wrong.status, 3)
  equal(wrong.stderr, 'weir: 2:10: request has no field "pth"\n   request.pth\n           ^^^\n')
  const missing = cel(['jwt.sub == "x"'])
  equal(missing.status, 1)
  match(missing.stderr, /no value: no such key: jwt\n {2}jwt\.sub is not there\n/)
  const field = cel(['true', '-s', '{"llm": {"inputTokens": "x"}}'])
  deepEqual([field.status, field.stderr], [3, 'weir: sample llm.inputTokens: must be a whole number\n'])
  const text = cel(['true', '-s', 'no JSON'])
  equal(text.status, 2)
  match(text.stderr, /--sample: must be a JSON object/)
})

test('the command line', () => {
  for (const [args, expected] of [
    [[], /needs an expression/],
    [['a', 'b'], /in quotes/],
    [['a', '--place', 'here'], /one of request, mcp, response, log, not 'here'/],
    [['a', '--smaple', 'x'], /did you mean --sample/]
  ] as const) {
    const command = readArguments(['cel', ...args])
    ok(command.kind === 'usage', args.join(' '))
    match(command.message, expected)
  }
})
