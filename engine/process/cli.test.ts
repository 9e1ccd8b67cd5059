import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMANDS, HELP, readArguments } from './cli.ts'

test('the command line says what to run', () => {
  assert.deepEqual(readArguments([]), { kind: 'run', source: { kind: 'default' } })
  assert.deepEqual(readArguments(['-f', 'a.yaml']), { kind: 'run', source: { kind: 'files', paths: ['a.yaml'] } })
  assert.deepEqual(readArguments(['--file=a.yaml', '--validate-only']), {
    kind: 'validate',
    source: { kind: 'files', paths: ['a.yaml'] }
  })
  assert.deepEqual(readArguments(['-f', '-']), { kind: 'run', source: { kind: 'files', paths: ['-'] } })
  assert.deepEqual(readArguments(['-f', 'a', '-f', '-', '-f', 'b/']), {
    kind: 'run',
    source: { kind: 'files', paths: ['a', '-', 'b/'] }
  })
  assert.deepEqual(readArguments(['-c', 'binds: []']), { kind: 'run', source: { kind: 'text', text: 'binds: []' } })
  assert.deepEqual(readArguments(['schema']), { kind: 'schema' })
  assert.deepEqual(readArguments(['completion', 'zsh']), { kind: 'completion', shell: 'zsh' })
  assert.deepEqual(readArguments(['-h']), { kind: 'help' })
  assert.deepEqual(readArguments(['-V', '-f', 'a']), { kind: 'version' })
})

test('a file that is to be imported', () => {
  const command = { kind: 'import', from: 'litellm', path: 'a.yaml' }
  assert.deepEqual(readArguments(['import', 'litellm', 'a.yaml']), { ...command, output: null })
  assert.deepEqual(readArguments(['import', 'litellm', 'a.yaml', '-o', 'b']), { ...command, output: 'b' })
})

test('a request that is to be explained', () => {
  const args = ['explain', '-r', 'PUT http://a/b', '-H', 'X-A: b: c', '-H', 'Y:', '--from', '::1', '--json', '-f', '-']
  assert.deepEqual(readArguments(args), {
    ...{ kind: 'explain', source: { kind: 'files', paths: ['-'] }, isJson: true },
    request: {
      ...{ method: 'PUT', url: 'http://a/b', data: null, from: '::1', httpVersion: undefined, cert: undefined },
      headers: [
        ['X-A', 'b: c'],
        ['Y', '']
      ]
    }
  })
  const posted = readArguments(['explain', '-r', 'http://a/', '-d', '@x', '-c', '{}'])
  assert.ok(posted.kind === 'explain')
  assert.deepEqual([posted.request.method, posted.request.data], ['POST', '@x'])
  for (const [option, version] of [
    ['--http1.1', '1.1'],
    ['--http2', '2'],
    ['--http2-prior-knowledge', '2-prior-knowledge']
  ] as const) {
    const spoken = readArguments(['explain', '-r', 'https://a/', option, '-E', 'a.pem', '-c', '{}'])
    assert.ok(spoken.kind === 'explain')
    assert.deepEqual([spoken.request.httpVersion, spoken.request.cert], [version, 'a.pem'])
  }
  assert.deepEqual(readArguments(['explain', '-h']), { kind: 'help', of: 'explain' })
})

test('what is asked of prices', () => {
  const files = { kind: 'files', paths: ['a.yaml'] } as const
  const question = { kind: 'check', daysMax: 90, hasConfig: true, isJson: true } as const
  const check = readArguments(['prices', 'check', '-f', 'a.yaml', '--older', '90', '--json'])
  assert.deepEqual(check, { kind: 'prices', source: files, question })
  const shown = readArguments(['prices', 'show', 'gpt-4o'])
  assert.ok(shown.kind === 'prices')
  assert.deepEqual(shown.question, { kind: 'show', name: 'gpt-4o', isJson: false })
  const all = readArguments(['prices', 'check'])
  assert.ok(all.kind === 'prices' && all.question.kind === 'check')
  assert.deepEqual([all.question.daysMax, all.question.hasConfig], [180, false])
  assert.deepEqual(readArguments(['prices', '--help']), { kind: 'help', of: 'prices' })
})

test('wrong usage says what is wrong and what was meant', () => {
  const messages: [string[], RegExp][] = [
    [['-f', 'a', '-c', 'b'], /one configuration/],
    [['-c', 'a', '-c', 'b'], /one configuration/],
    [['-f', '-', '-f', '-'], /standard input can be read once/],
    [['config.yaml'], /given with -f config\.yaml/],
    [['--validate'], /unknown option '--validate'; did you mean --validate-only\?/],
    [['-f', 'a', '--verison'], /unknown option '--verison'; did you mean --version\?/],
    [['--confg=x'], /unknown option '--confg'; did you mean --config\?/],
    [['-c', '{}', '-x'], /unknown option '-x'$/],
    [['-f', 'a', 'stray'], /unexpected argument 'stray'/],
    [['--zzz'], /unknown option '--zzz'$/],
    [['--validate-only'], /needs a configuration/],
    [['schema', 'x'], /without arguments/],
    [['validate'], /needs a configuration: weir validate FILE/],
    [['validate', 'a', '-c', '{}'], /one configuration/],
    [['help', 'explian'], /did you mean explain/],
    [['completion'], /one shell: bash, zsh, fish/],
    [['import', 'litellm'], /a name and a file: weir import litellm config\.yaml/],
    [['import', 'litellm', 'a', 'b'], /a name and a file/],
    [['import', 'litellm', 'a', '--out', 'b'], /a name and a file/],
    [['completion', 'tcsh'], /one shell/],
    [['explian', '-r', 'http://a/'], /unexpected argument 'explian'; did you mean explain\?$/],
    [['-f'], /argument missing|requires|-f/i],
    [['explain', '-r', 'GET http://a/'], /needs a configuration/],
    [['explain', '-c', '{}'], /needs a request: -r 'GET/],
    [['explain', '-c', '{}', '-f', 'a', '-r', 'http://a/'], /one configuration/],
    [
      ['explain', '-c', '{}', '-r', 'GET http://a/ HTTP/1.1'],
      /a request is a method, which may be left out, and a URL: -r 'GET/
    ],
    [['explain', '-c', '{}', '-r', 'http://a/', '-H', 'X-A'], /-H 'Name: value'/],
    [['explain', '-c', '{}', '-r', 'http://a/', '--form', '::1'], /did you mean --from\?/],
    [['explain', '-c', '{}', '-r', 'https://a/', '--http2', '--http1.1'], /one of --http1\.1, --http2/],
    [['prices'], /'check', or 'show' and a name/],
    [['prices', 'show'], /show needs one name/],
    [['prices', 'show', 'a', 'b'], /show needs one name/],
    [['prices', 'show', 'a', '--older', '3'], /--older is an option of check/],
    [['prices', 'check', 'a'], /unexpected argument 'a'/],
    [['prices', 'check', '--older', 'x'], /whole number of days/],
    [['prices', 'check', '--jsn'], /did you mean --json/]
  ]
  for (const [args, expected] of messages) {
    const command = readArguments(args)
    assert.equal(command.kind, 'usage', args.join(' '))
    if (command.kind !== 'usage') continue
    assert.match(command.message, expected)
    const own = args[0] === 'explain' || args[0] === 'prices' ? `${args[0]} ` : ''
    assert.equal(command.help, `weir ${own}--help`)
  }
})

test('the help fits a screen and names every option and exit code', () => {
  const lines = HELP.split('\n')
  assert.ok(lines.length <= 40, `${lines.length} lines`)
  assert.ok(lines.every((line) => line.length <= 110))
  for (const word of [
    ...Object.keys(COMMANDS),
    '--file',
    '--config',
    '--validate-only',
    '--version',
    '--help',
    'SIGHUP',
    ...'0123'
  ])
    assert.ok(HELP.includes(word), word)
})
