/** Forms with files: what is read of them, what is refused, and that nothing but the field changes. */
import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { FormatError } from '#backends/llm/formats/format.ts'
import { isForm, readForm, singleText, withFields } from './multipart.ts'

const TYPE = 'multipart/form-data; boundary=b0'
const part = (head: string, value: string) => `--b0\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`
const bodyOf = (...parts: readonly string[]) => Buffer.from(`${parts.join('')}--b0--\r\n`)
const read = (...parts: readonly string[]) => readForm(bodyOf(...parts), TYPE)
const refused = (why: RegExp, bytes: Buffer, type = TYPE) => {
  throws(
    () => readForm(bytes, type),
    (error) => error instanceof FormatError && why.test(`${error.field}: ${error.message}`)
  )
}

test('what clients send is read where it lies', async () => {
  const form = new FormData()
  form.append('file', new File([new Uint8Array([0, 13, 10, 45, 45, 255])], 'ünï "q".wav', { type: 'audio/wav' }))
  form.append('model', 'whisper-1')
  form.append('timestamp_granularities[]', 'word')
  const request = new Request('http://a/', { method: 'POST', body: form })
  const bytes = Buffer.from(await request.arrayBuffer())
  const type = request.headers.get('content-type')!
  ok(isForm(type))
  const { parts } = readForm(bytes, type)
  deepEqual(
    parts.map(({ name }) => name),
    ['file', 'model', 'timestamp_granularities[]']
  )
  equal(parts[0]!.contentType, 'audio/wav')
  deepEqual([...bytes.subarray(parts[0]!.start, parts[0]!.end)], [0, 13, 10, 45, 45, 255])
  equal(singleText(readForm(bytes, type), 'model'), 'whisper-1')
  equal(singleText(readForm(bytes, type), 'prompt'), null)
})

test('values: none, lines, and words that only look like the boundary', () => {
  const form = read(
    part('name="a"', ''),
    part('name=b', 'x\r\n\r\n--b\r\n-- b0'),
    part('name="c"; filename=""', ' --b0')
  )
  deepEqual(
    form.parts.map(({ name, filename, start, end }) => [name, filename, form.bytes.subarray(start, end).toString()]),
    [
      ['a', null, ''],
      ['b', null, 'x\r\n\r\n--b\r\n-- b0'],
      ['c', '', ' --b0']
    ]
  )
  equal(
    readForm(Buffer.from('--b0\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b0--'), TYPE).parts.length,
    1
  )
  equal(readForm(bodyOf(part('name=a', '1')), 'Multipart/Form-Data; charset=utf-8; BOUNDARY="b0"').parts.length, 1)
})

test('a field is replaced, added or left out; all else stays as it was', () => {
  const parts = [
    part('name=file; filename=a', 'x'.repeat(300_000)),
    part('name=model', 'm'),
    part('name=n', '1')
  ] as const
  const form = read(...parts)
  const written = (fields: Record<string, string | null>) =>
    withFields(form, new Map(Object.entries(fields))).toString()
  equal(written({ model: 'longer' }), bodyOf(parts[0], part('name=model', 'longer'), parts[2]).toString())
  equal(written({ model: null }), bodyOf(parts[0], parts[2]).toString())
  equal(written({ file: null, n: null }), bodyOf(parts[1]).toString())
  equal(written({ stream: 'true' }), bodyOf(part('name="stream"', 'true'), ...parts).toString())
  equal(written({ none: null }), form.bytes.toString())
  ok(withFields(form, new Map([['model', 'm2']])).buffer instanceof SharedArrayBuffer)
})

test('a body that is no form, or not to the end', () => {
  refused(/^: the body must begin with the boundary/, Buffer.from('{}'))
  refused(
    /^: the body must begin with the boundary/,
    Buffer.concat([Buffer.from('preamble\r\n'), bodyOf(part('name=a', '1'))])
  )
  refused(/^part 1: has no header/, Buffer.from('--b0\r\nContent-Disposition: form-data; name=a\r\n'))
  refused(/^part 1: has no end/, Buffer.from('--b0\r\nContent-Disposition: form-data; name=a\r\n\r\n1'))
  refused(/^part 1: has no end/, Buffer.from('--b0\r\nContent-Disposition: form-data; name=a\r\n\r\n--b0--'))
  refused(/^part 1: has a line that begins with the boundary and goes on/, bodyOf(part('name=a', '1\r\n--b00')))
  refused(/^part 1: is followed by more/, Buffer.concat([bodyOf(part('name=a', '1')), bodyOf(part('name=a', '2'))]))
  refused(/^part 1: has no header/, Buffer.from('--b0\r\nContent-Disposition: form-data; name=a\n\n1\r\n--b0--'))
  refused(/^: the form has more than 128 parts/, bodyOf(...Array.from({ length: 129 }, () => part('name=a', ''))))
})

test('headers that servers read in different ways', () => {
  const of = (...lines: string[]) => Buffer.from(`--b0\r\n${lines.join('\r\n')}\r\n\r\n1\r\n--b0--\r\n`)
  const named = 'Content-Disposition: form-data; name="model"'
  refused(/^part 1: has a header that cannot be read/, of(named, named))
  refused(/^part 1: has a header that cannot be read/, of('Content-Disposition: form-data;', ' name="model"'))
  refused(/^part 1: has a header that cannot be read/, of(`${named}\0`))
  refused(/^part 1: has a header that cannot be read/, Buffer.from('--b0\r\n\r\n1\r\n\r\n2\r\n--b0--\r\n'))
  refused(/^part 1: has a transfer encoding/, of(named, 'Content-Transfer-Encoding: base64'))
  refused(/^part 1: must have a Content-Disposition/, of('Content-Type: text/plain'))
  refused(/^part 1: must have a Content-Disposition/, of('Content-Disposition: attachment; name="model"'))
  for (const name of ['"mod%65l"', '"mod\\el"', '"a\\"b"', '""', '"_charset_"', 'ä'])
    refused(/^part 1: (?:must have a name|has parameters)/, of(`Content-Disposition: form-data; name=${name}`))
  refused(/^part 1: must have a name/, of(`${named}; name*=utf-8''prompt`))
  refused(/^part 1: has parameters/, of(`${named}; Name="prompt"`))
  refused(/^part 1: has no header, or one of more than 4096 bytes/, of(named, `X: ${'x'.repeat(4096)}`))
})

test('boundaries', () => {
  const bytes = bodyOf(part('name=a', '1'))
  for (const type of [
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=""',
    'multipart/form-data; boundary=b0; boundary=b1',
    'multipart/form-data; boundary="b0 "',
    `multipart/form-data; boundary=${'b'.repeat(71)}`,
    'multipart/form-data; boundary="b\\0"'
  ])
    refused(/boundary|parameters/, bytes, type)
  ok(!isForm('multipart/mixed; boundary=b0') && !isForm('application/json') && !isForm('multipart/form-datax'))
})

test('a field that says two things, or no text', () => {
  const why = (pattern: RegExp, ...parts: string[]) =>
    throws(
      () => singleText(read(...parts), 'model'),
      (error) => error instanceof FormatError && error.field === 'model' && pattern.test(error.message)
    )
  why(/more than once/, part('name=model', 'a'), part('name=model', 'b'))
  why(/not a file/, part('name=model; filename=x', 'a'))
  why(
    /UTF-8/,
    '--b0\r\nContent-Disposition: form-data; name=model\r\nContent-Type: text/plain; charset=utf-16\r\n\r\na\r\n'
  )
  throws(() => {
    const bytes = Buffer.concat([
      Buffer.from(part('name=model', '').slice(0, -2)),
      Buffer.from([0xff]),
      Buffer.from('\r\n--b0--')
    ])
    singleText(readForm(bytes, TYPE), 'model')
  }, /UTF-8/)
})
