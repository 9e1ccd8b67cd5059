/** Forms that are read while they come: the parts and the refusals of whole ones, wherever they are cut. */
import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { FormatError } from '#backends/llm/formats/format.ts'
import { readForm } from '#backends/llm/request/multipart.ts'
import { FormScanner } from './form-scanner.ts'

const TYPE = 'multipart/form-data; boundary=b0'
const part = (head: string, value: string) => `--b0\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`

const FORMS: readonly string[] = [
  `${part('name=model', 'm')}${part('name=file; filename=a', '\r\n--b\r\n-\r\r\n--b1\r')}--b0--\r\n`,
  `${part('name=a', '')}--b0--`,
  `--b0\r\nContent-Disposition: form-data; name=a\r\n\r\n--b0--\r\n`,
  `--b0\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b0x\r\n--b0--\r\n`,
  `--b0\r\nX: ${'y'.repeat(5000)}\r\n\r\n1\r\n--b0--\r\n`,
  `--b0\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b0--\r\nmore`,
  `--b0\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b0--\r`,
  `--b0\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b0-`,
  `--b0\r\nContent-Disposition: form-data; name=a\r\n\r\n1`,
  'x--b0\r\n',
  '--b0',
  '',
  `${part('name=a', '1').repeat(128)}--b0--`,
  `${part('name=a', '1').repeat(129)}--b0--`
]

function scanned(bytes: Buffer, sizes: () => number) {
  try {
    const scanner = new FormScanner(TYPE)
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(bytes.length, at + sizes())
      scanner.push(bytes, at, end)
      at = end
    }
    scanner.end()
    equal(scanner.open, null)
    return scanner.parts
  } catch (error) {
    if (error instanceof FormatError) return 'refused'
    throw error
  }
}

function whole(bytes: Buffer) {
  try {
    return readForm(bytes, TYPE).parts
  } catch (error) {
    if (error instanceof FormatError) return 'refused'
    throw error
  }
}

test('cut into pieces of any size, a form has the parts that it has as a whole, or is refused', () => {
  let taken = 0
  for (const text of FORMS) {
    const bytes = Buffer.from(text, 'latin1')
    const wanted = whole(bytes)
    if (wanted !== 'refused') taken++
    for (const size of [1, 2, 3, 7, 4096, 100_000])
      deepEqual(
        scanned(bytes, () => size),
        wanted,
        text.slice(0, 80)
      )
    if (bytes.length > 500) continue
    // One cut, everywhere.
    for (let cut = 1; cut < bytes.length; cut++) {
      let isFirst = true
      const sizes = () => {
        const size = isFirst ? cut : bytes.length
        isFirst = false
        return size
      }
      deepEqual(scanned(bytes, sizes), wanted, `${text.slice(0, 80)} at ${cut}`)
    }
  }
  equal(taken, 3)
})

test('a value that is wanted is told, in pieces too, and not more of it than there may be', () => {
  const bytes = Buffer.from(`${part('name=a', 'x\r\ny')}${part('name=file; filename=f', 'no')}--b0--\r\n`)
  const seen: string[] = []
  for (const size of [1, 5, 1000]) {
    const scanner = new FormScanner(TYPE)
    scanner.watch = {
      begins: ({ name }) => name === 'a',
      value: ({ name }, text) => seen.push(`${name}=${text}`)
    }
    for (let at = 0; at < bytes.length; at += size) scanner.push(bytes, at, Math.min(bytes.length, at + size))
  }
  deepEqual(seen, ['a=x\r\ny', 'a=x\r\ny', 'a=x\r\ny'])
  const scanner = new FormScanner(TYPE)
  scanner.watch = { begins: () => true, value() {} }
  const long = Buffer.from(part('name=a', 'x'.repeat(2000)))
  throws(() => scanner.push(long, 0, long.length), /a: |has more than 1024 bytes/)
})

test('of a file that comes nothing is kept but what may be the beginning of its end', () => {
  const scanner = new FormScanner(TYPE)
  const head = Buffer.from(part('name=file; filename=f', '').slice(0, -2))
  scanner.push(head, 0, head.length)
  ok(scanner.open !== null && scanner.open.start === head.length)
  const block = Buffer.alloc(1024, '\r\n--b')
  for (let i = 0; i < 1000; i++) scanner.push(block, 0, block.length)
  const end = Buffer.from('\r\n--b0--\r\n')
  scanner.push(end, 0, end.length)
  scanner.end()
  deepEqual(
    scanner.parts.map(({ start, end }) => end - start),
    [1024 * 1000]
  )
})
