import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { test } from 'node:test'
import { LineSink, type WriteDone } from './line-sink.ts'

/** A descriptor that takes nothing by itself: every write waits until the test settles it. */
function heldDescriptor() {
  const calls: { text: string; done: WriteDone }[] = []
  return {
    calls,
    write: (_fd: number, bytes: Buffer, offset: number, length: number, done: WriteDone) => {
      calls.push({ text: bytes.toString('latin1', offset, offset + length), done })
    }
  }
}

function full(): NodeJS.ErrnoException {
  return Object.assign(new Error('full'), { code: 'EAGAIN' })
}

const never = () => assert.fail('nothing may be dropped')

test('lines reach a file in order, in few writes', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sink-'))
  t.after(() => fs.rmSync(dir, { recursive: true }))
  const fd = fs.openSync(path.join(dir, 'log'), 'a')
  const sink = new LineSink({ fd, onDropped: never })
  let expected = ''
  for (let i = 0; i < 5000; i++) {
    sink.append(`line ${i} of a log that is longer than one batch\n`)
    expected += `line ${i} of a log that is longer than one batch\n`
  }
  await sink.flush()
  fs.closeSync(fd)
  assert.equal(fs.readFileSync(path.join(dir, 'log'), 'latin1'), expected)
})

test('a batch is written without a flush when it is large, and by the timer when it is not', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { calls, write } = heldDescriptor()
  const sink = new LineSink({ fd: -1, onDropped: never, write, pieceBytesMax: 1e6 })
  sink.append('small\n')
  assert.equal(calls.length, 0)
  t.mock.timers.tick(100)
  assert.equal(calls.length, 1)
  calls[0]!.done(null, 6)
  sink.append(`${'x'.repeat(70_000)}\n`)
  assert.equal(calls.length, 2)
})

test('a partial write goes on where it stopped, and a full pipe is tried again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { calls, write } = heldDescriptor()
  const sink = new LineSink({ fd: -1, onDropped: never, write, pieceBytesMax: 4096 })
  sink.append('abcdef\n')
  const flushed = sink.flush()
  calls[0]!.done(null, 3)
  assert.equal(calls[1]!.text, 'def\n')
  calls[1]!.done(full(), 0)
  assert.equal(calls.length, 2)
  t.mock.timers.tick(5)
  assert.equal(calls[2]!.text, 'def\n')
  calls[2]!.done(null, 4)
  await flushed
})

test('on a pipe a write holds whole lines and at most what the pipe takes at once', async () => {
  const { calls, write } = heldDescriptor()
  const sink = new LineSink({ fd: -1, onDropped: never, write, pieceBytesMax: 10 })
  for (const line of ['aaa\n', 'bbb\n', 'cccc\n', 'a line that is longer\n', 'd\n']) sink.append(line)
  const flushed = sink.flush()
  for (let i = 0; i < calls.length; i++) calls[i]!.done(null, calls[i]!.text.length)
  await flushed
  assert.deepEqual(
    calls.map((call) => call.text),
    ['aaa\nbbb\n', 'cccc\n', 'a line that is longer\n', 'd\n']
  )
})

test('a flush waits for what was accepted before it, not for what comes after', async () => {
  const { calls, write } = heldDescriptor()
  const sink = new LineSink({ fd: -1, onDropped: never, write, pieceBytesMax: 4096 })
  sink.append('before\n')
  const first = sink.flush()
  sink.append('after\n')
  const order: string[] = []
  const both = Promise.all([first.then(() => order.push('first')), sink.flush().then(() => order.push('second'))])
  calls[0]!.done(null, 7)
  await first
  assert.deepEqual(order, ['first'])
  calls[1]!.done(null, 6)
  await both
  await sink.flush()
})

test('beyond the backlog lines are dropped and counted, and what was accepted is still written', async () => {
  const { calls, write } = heldDescriptor()
  const drops: [number, string][] = []
  const sink = new LineSink({ fd: -1, onDropped: (n, why) => drops.push([n, why]), write, pieceBytesMax: 1e9 })
  const line = `${'x'.repeat(1023)}\n`
  for (let i = 0; i < 4096 + 3; i++) sink.append(line)
  assert.deepEqual(drops, Array(3).fill([1, 'backlog']))
  const flushed = sink.flush()
  let bytes = 0
  for (let i = 0; i < calls.length; i++) {
    bytes += calls[i]!.text.length
    calls[i]!.done(null, calls[i]!.text.length)
  }
  await flushed
  assert.equal(bytes, 4096 * 1024)
  sink.append(line)
  assert.equal(drops.length, 3, 'there is room again')
  sink.flushSync()
})

test('a write that fails counts its lines and does not stop later ones', async () => {
  const { calls, write } = heldDescriptor()
  const drops: [number, string][] = []
  const sink = new LineSink({ fd: -1, onDropped: (n, why) => drops.push([n, why]), write, pieceBytesMax: 4096 })
  sink.append('one\n')
  sink.append('two\n')
  const flushed = sink.flush()
  calls[0]!.done(Object.assign(new Error('no space'), { code: 'ENOSPC' }), 0)
  await flushed
  assert.deepEqual(drops, [[2, 'ENOSPC']])
  sink.append('three\n')
  const again = sink.flush()
  calls[1]!.done(null, 6)
  await again
})

test('at exit, what no write has taken is written, and what one has taken is not written twice', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sink-'))
  t.after(() => fs.rmSync(dir, { recursive: true }))
  const fd = fs.openSync(path.join(dir, 'log'), 'a')
  const { calls, write } = heldDescriptor()
  const sink = new LineSink({ fd, onDropped: never, write, pieceBytesMax: 8 })
  sink.append('taken\n')
  sink.append('queued\n')
  const flushed = sink.flush()
  sink.append('pending\n')
  assert.equal(calls[0]!.text, 'taken\n')
  sink.flushSync()
  assert.equal(fs.readFileSync(path.join(dir, 'log'), 'latin1'), 'queued\npending\n')
  calls[0]!.done(null, 6)
  await flushed
  assert.equal(calls.length, 1)
  fs.closeSync(fd)
})

test('at exit, a piece that was waiting for its retry is written too', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sink-'))
  t.after(() => fs.rmSync(dir, { recursive: true }))
  const fd = fs.openSync(path.join(dir, 'log'), 'a')
  const { calls, write } = heldDescriptor()
  const sink = new LineSink({ fd, onDropped: never, write, pieceBytesMax: 4096 })
  sink.append('waiting\n')
  const flushed = sink.flush()
  calls[0]!.done(full(), 0)
  sink.flushSync()
  await flushed
  assert.equal(fs.readFileSync(path.join(dir, 'log'), 'latin1'), 'waiting\n')
  fs.closeSync(fd)
})

test('a process that exits at once loses no line, though the pipe holds less', async () => {
  const source = `
    const { LineSink } = await import(${JSON.stringify(new URL('./line-sink.ts', import.meta.url).href)})
    const sink = new LineSink({ fd: 1, onDropped: (n) => process.stderr.write('lost ' + n) })
    process.on('exit', () => sink.flushSync())
    for (let i = 0; i < 20000; i++) sink.append('line number ' + i + '\\n')
    process.exit(0)`
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', source])
  let out = ''
  let err = ''
  child.stdout.setEncoding('latin1').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('latin1').on('data', (text: string) => {
    err += text
  })
  await new Promise((resolve) => child.once('close', resolve))
  const lines = out.split('\n').slice(0, -1)
  assert.equal(err, '')
  assert.equal(new Set(lines).size, 20000)
  assert.ok(lines.every((line) => /^line number \d+$/.test(line)))
})
