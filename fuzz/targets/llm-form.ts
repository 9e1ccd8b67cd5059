/**
 * Forms with files: what is read ends where the next delimiter begins, a replaced field says what it should and changes
 * nothing else, what is refused is refused with a FormatError; and in pieces, as they come, they are read the same.
 */
import assert from 'node:assert/strict'
import { FormatError } from '#backends/llm/formats/format.ts'
import { type Form, type FormPart, readForm, textOf, withFields } from '#backends/llm/request/multipart.ts'
import { FormScanner } from '#backends/llm/uploads/form-scanner.ts'

export const name = 'llm-form'

export const dictionary = [
  ...[
    '--b',
    '\r\n--b\r\n',
    '\r\n--b--',
    '\r\n\r\n',
    '\n',
    '\r',
    'Content-Disposition: form-data; name=',
    'name="model"'
  ],
  ...['; filename="a"', "filename*=utf-8''a", 'Content-Type: text/plain; charset=utf-16', '\\"', '%6d', '\0', '\xff'],
  'Content-Transfer-Encoding: base64'
]

const TYPE = 'multipart/form-data; boundary=b'

/** The first line is the Content-Type, where it is one. */
export function run(data: Buffer): void {
  const end = data.indexOf('\n')
  const line = data.toString('latin1', 0, Math.max(end, 0))
  const isTyped = line.startsWith('multipart/')
  const [body, type] = isTyped ? [data.subarray(end + 1), line] : [Buffer.from(data), TYPE]
  const form = tried(() => readForm(body, type))
  // While it comes, in pieces of a length that the input says.
  const scanned = tried(() => scan(body, type, 1 + ((data[0] ?? 0) % 61)))
  assert.deepEqual(scanned, form?.parts ?? null)
  if (form === null) return
  const { bytes, boundary, parts } = form
  for (const { start, end } of parts) {
    assert.ok(start <= end && end < bytes.length)
    assert.equal(bytes.subarray(start, end).indexOf(`\r\n--${boundary}`), -1)
    assert.ok(bytes.toString('latin1', end).startsWith(`\r\n--${boundary}`))
  }
  const names = new Set(parts.map(({ name }) => name))
  for (const name of [...names, 'model']) {
    const changed = readForm(withFields(form, new Map([[name, 'm-2']])), `multipart/form-data; boundary="${boundary}"`)
    assert.deepEqual(valuesOf(changed, name), names.has(name) ? valuesOf(form, name).map(() => 'm-2') : ['m-2'])
    const rest = withFields(form, new Map([[name, null]]))
    if (parts.every((part) => part.name === name)) continue
    const left = readForm(rest, `multipart/form-data; boundary="${boundary}"`)
    assert.deepEqual(valuesOf(left, null), valuesOf(form, null, name))
    assert.deepEqual(valuesOf(changed, null, name), valuesOf(form, null, name))
  }
  for (const part of parts) tried(() => textOf(form, part))
}

function scan(body: Buffer, type: string, size: number): readonly FormPart[] {
  const scanner = new FormScanner(type)
  for (let at = 0; at < body.length; at += size) scanner.push(body, at, Math.min(body.length, at + size))
  scanner.end()
  return scanner.parts
}

const valuesOf = ({ bytes, parts }: Form, name: string | null, without: string | null = null): string[] =>
  parts.flatMap((part) =>
    part.name === without || (name !== null && part.name !== name)
      ? []
      : [bytes.toString('latin1', part.start, part.end)]
  )

function tried<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof FormatError) return null
    throw error
  }
}
