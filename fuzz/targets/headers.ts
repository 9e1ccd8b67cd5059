/**
 * HeaderBlock against a model that is too simple to be wrong: two lists of pairs. The input is a
 * small program, one step per line: "+name:value" receive, "&" append, "=" set, "-" remove, "!" reset.
 */
import assert from 'node:assert/strict'
import { HeaderBlock } from '#engine/http/headers.ts'

export const name = 'headers'
export const dictionary = [
  '\n+host:a',
  '\n&Host:b',
  '\n=HOST: c ',
  '\n-host:',
  '\n!\n',
  '\n+x-a:\t',
  '\n=x-a:',
  ':',
  '\n'
]

/** More steps repeat what fewer have shown, and the comparison after each is linear. */
const STEPS_MAX = 200

type Pair = readonly [name: string, value: string]

/** Received lines first, then added ones, as the contract of HeaderBlock says. */
class Model {
  received: Pair[] = []
  added: Pair[] = []

  remove(name: string): void {
    const isOther = ([other]: Pair): boolean => other.toLowerCase() !== name
    this.received = this.received.filter(isOther)
    this.added = this.added.filter(isOther)
  }

  /** Blanks around a received value are not part of it (RFC 9112 section 5); an added one is exact. */
  pairs(): Pair[] {
    return [...this.received.map(([n, v]): Pair => [n, v.replace(/^[ \t]+|[ \t]+$/g, '')]), ...this.added]
  }

  lines(): string {
    return [...this.received, ...this.added].map(([n, v]) => `${n}: ${v}\r\n`).join('')
  }
}

export function run(data: Buffer): void {
  const block = new HeaderBlock()
  const model = new Model()
  for (const line of data.toString('latin1').split('\n').slice(0, STEPS_MAX)) {
    // Names are tokens and values hold no CR, LF or NUL: transports have refused everything else.
    if (line === '!') {
      block.reset()
      model.received = []
      model.added = []
    }
    const [, step, header, value] = /^([+&=-])([\w!#$%&'*+.^`|~-]+):([^\r\0]*)$/.exec(line) ?? []
    if (step === undefined || header === undefined || value === undefined) continue
    apply(block, model, step, header, value)
    compare(block, model, header.toLowerCase())
  }
}

function apply(block: HeaderBlock, model: Model, step: string, header: string, value: string): void {
  const key = header.toLowerCase()
  if (step === '+') {
    block.receive(header, value)
    model.received.push([header, value])
  } else if (step === '-') {
    block.remove(key)
    model.remove(key)
  } else {
    if (step === '=') {
      block.set(header, value)
      model.remove(key)
    } else block.append(header, value)
    model.added.push([header, value])
  }
}

function compare(block: HeaderBlock, model: Model, key: string): void {
  const pairs = model.pairs()
  const values = pairs.filter(([n]) => n.toLowerCase() === key).map(([, v]) => v)
  assert.equal(block.get(key), values[0], `get(${key})`)
  assert.equal(block.has(key), values.length > 0, `has(${key})`)
  assert.equal(block.getAll(key), values.length === 0 ? undefined : values.join(', '), `getAll(${key})`)
  assert.equal(block.lines(), model.lines(), 'lines()')
  const visited: Pair[] = []
  block.forEach((n, v) => {
    visited.push([n, v])
  })
  assert.deepEqual(visited, pairs, 'forEach()')
}
