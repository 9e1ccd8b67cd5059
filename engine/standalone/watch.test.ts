import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type FileWatch, WatchedFiles, type WatchOptions, watchFile } from './watch.ts'

/** A folder of its own, removed after the test. */
function folder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'weir-watch-'))
  context.after(() => rmSync(path, { recursive: true }))
  return path
}

/** Long enough to never come: these tests are about events. */
const NO_POLL_MS = 3_600_000

/** A watch whose changes can be waited for, one by one. */
class Changes {
  readonly #seen: string[] = []
  readonly #waiting: ((text: string) => void)[] = []
  readonly watch: FileWatch

  constructor(context: TestContext, path: string, options?: WatchOptions) {
    this.watch = watchFile(
      path,
      (text) => {
        const waiting = this.#waiting.shift()
        if (waiting === undefined) this.#seen.push(text)
        else waiting(text)
      },
      { pollMs: NO_POLL_MS, ...options }
    )
    context.after(() => this.watch.close())
  }

  /** Changes that nobody has waited for. */
  get unexpected(): readonly string[] {
    return this.#seen
  }

  async next(): Promise<string> {
    const seen = this.#seen.shift()
    if (seen !== undefined) return seen
    const { promise, resolve } = Promise.withResolvers<string>()
    this.#waiting.push(resolve)
    // The watch does not keep the process alive, waiting for it does.
    const alive = setInterval(() => {}, 60_000)
    return await promise.finally(() => clearInterval(alive))
  }
}

test('a file that is written in place', async (context) => {
  const file = join(folder(context), 'weir.yaml')
  writeFileSync(file, 'one')
  const changes = new Changes(context, file)
  writeFileSync(file, 'two')
  assert.equal(await changes.next(), 'two')
  writeFileSync(file, 'three')
  assert.equal(await changes.next(), 'three')
})

test('a file that is truncated and written later changes once; one that stays empty is reported', async (context) => {
  const file = join(folder(context), 'weir.yaml')
  writeFileSync(file, 'one')
  const changes = new Changes(context, file)
  const polled = new Changes(context, file, { pollMs: 1_000 })
  const barrier = new Changes(context, join(file, '..', 'barrier'), { known: '' })
  writeFileSync(file, '')
  writeFileSync(join(file, '..', 'barrier'), 'looked at later')
  await barrier.next()
  assert.equal(await polled.next(), '')
  writeFileSync(file, 'two')
  assert.deepEqual([await changes.next(), await polled.next()], ['two', 'two'])
  assert.deepEqual([...changes.unexpected, ...polled.unexpected], [])
})

test('a file that is replaced by renaming, again and again', async (context) => {
  const path = folder(context)
  const file = join(path, 'weir.yaml')
  writeFileSync(file, 'one')
  const changes = new Changes(context, file)
  for (const text of ['two', 'three', 'four']) {
    writeFileSync(join(path, 'new'), text)
    renameSync(join(path, 'new'), file)
    assert.equal(await changes.next(), text)
  }
})

test('a Kubernetes ConfigMap: a link beside the file is swapped', async (context) => {
  const path = folder(context)
  const publish = (version: string, text: string) => {
    mkdirSync(join(path, version))
    writeFileSync(join(path, version, 'weir.yaml'), text)
    symlinkSync(version, join(path, '..data_tmp'))
    renameSync(join(path, '..data_tmp'), join(path, '..data'))
  }
  publish('..1', 'one')
  symlinkSync(join('..data', 'weir.yaml'), join(path, 'weir.yaml'))
  const changes = new Changes(context, join(path, 'weir.yaml'))
  publish('..2', 'two')
  assert.equal(await changes.next(), 'two')
  rmSync(join(path, '..1'), { recursive: true })
  publish('..3', 'three')
  assert.equal(await changes.next(), 'three')
})

test('a link to a file elsewhere: there it is watched too', async (context) => {
  const path = folder(context)
  const elsewhere = folder(context)
  writeFileSync(join(elsewhere, 'real.yaml'), 'one')
  symlinkSync(join(elsewhere, 'real.yaml'), join(path, 'weir.yaml'))
  const changes = new Changes(context, join(path, 'weir.yaml'))
  writeFileSync(join(elsewhere, 'real.yaml'), 'two')
  assert.equal(await changes.next(), 'two')
})

test('the same content, and a file that is gone for a while, are no changes', async (context) => {
  const file = join(folder(context), 'weir.yaml')
  writeFileSync(file, 'one')
  const changes = new Changes(context, file)
  const barrier = new Changes(context, file, { known: 'something else' })
  writeFileSync(file, 'one')
  assert.equal(await barrier.next(), 'one')
  unlinkSync(file)
  writeFileSync(file, 'one')
  writeFileSync(file, 'two')
  assert.equal(await barrier.next(), 'two')
  assert.equal(await changes.next(), 'two')
  assert.deepEqual([...changes.unexpected, ...barrier.unexpected], [])
})

test('a missing file is reported once, and again when it has been back', async (context) => {
  const file = join(folder(context), 'weir.yaml')
  writeFileSync(file, 'one')
  let gone = 0
  let tell = () => {}
  const nextGone = () =>
    new Promise<void>((resolve) => {
      tell = resolve
    })
  const onGone = () => {
    gone++
    tell()
  }
  const changes = new Changes(context, file, { pollMs: 1_000, onGone })
  const alive = setInterval(() => {}, 60_000)
  context.after(() => clearInterval(alive))
  let next = nextGone()
  unlinkSync(file)
  await next
  writeFileSync(file, 'two')
  assert.equal(await changes.next(), 'two')
  assert.equal(gone, 1)
  next = nextGone()
  unlinkSync(file)
  await next
  assert.equal(gone, 2)
})

test('a change between reading the file and watching it is not missed', async (context) => {
  const file = join(folder(context), 'weir.yaml')
  writeFileSync(file, 'two')
  assert.equal(await new Changes(context, file, { known: 'one' }).next(), 'two')
})

test('without events the file is looked at from time to time: here its folder does not exist yet', async (context) => {
  const path = join(folder(context), 'later')
  const changes = new Changes(context, join(path, 'weir.yaml'), { pollMs: 1_000 })
  mkdirSync(path)
  writeFileSync(join(path, 'weir.yaml'), 'one')
  assert.equal(await changes.next(), 'one')
})

test('nothing is reported after close', async (context) => {
  const file = join(folder(context), 'weir.yaml')
  writeFileSync(file, 'one')
  const closed = new Changes(context, file)
  const open = new Changes(context, file)
  closed.watch.close()
  writeFileSync(file, 'two')
  assert.equal(await open.next(), 'two')
  assert.deepEqual(closed.unexpected, [])
})

test('files that a configuration refers to: replaced by renaming, or through a link of Kubernetes', async (context) => {
  const path = folder(context)
  const mounted = join(path, 'mounted')
  mkdirSync(mounted)
  const publish = (version: string, text: string) => {
    mkdirSync(join(mounted, version))
    writeFileSync(join(mounted, version, 'keys'), text)
    symlinkSync(version, join(mounted, '..data_tmp'))
    renameSync(join(mounted, '..data_tmp'), join(mounted, '..data'))
  }
  publish('..1', 'one')
  symlinkSync(join('..data', 'keys'), join(mounted, 'keys'))
  const plain = join(path, 'plain')
  writeFileSync(plain, 'one')
  const changes = new Calls(context)
  changes.files.follow([read(plain, 'one'), read(join(mounted, 'keys'), 'one')], true)
  publish('..2', 'two')
  await changes.next()
  writeFileSync(join(path, 'new'), 'two')
  renameSync(join(path, 'new'), plain)
  await changes.next()
})

test('a referred file that was missing, and one that changed before it was watched', async (context) => {
  const path = folder(context)
  const late = join(path, 'late')
  const changes = new Calls(context)
  changes.files.follow([read(late, '')], true)
  writeFileSync(late, 'here')
  await changes.next()
  const raced = join(path, 'raced')
  writeFileSync(raced, 'new')
  changes.files.follow([read(raced, 'old')], false)
  await changes.next()
})

test('a configuration with mistakes adds files to watch, a good one decides which', async (context) => {
  const path = folder(context)
  const [a, b] = [join(path, 'a'), join(path, 'b')]
  writeFileSync(a, '1')
  writeFileSync(b, '1')
  const changes = new Calls(context)
  changes.files.follow([read(a, '1')], true)
  changes.files.follow([read(b, '1')], false)
  writeFileSync(a, '2')
  await changes.next()
  assert.deepEqual(changes.files.paths, [a, b])
  changes.files.follow([read(b, '1')], true)
  assert.deepEqual(changes.files.paths, [b])
  writeFileSync(b, '2')
  await changes.next()
  changes.files.close()
  changes.files.follow([read(a, '2')], true)
  assert.deepEqual(changes.files.paths, [])
})

const read = (path: string, text: string) => ({ path, text })

/** Files whose changes can be waited for, one by one. */
class Calls {
  #seen = 0
  #waiting: (() => void)[] = []
  readonly files = new WatchedFiles(() => {
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#seen++
    else waiting()
  })

  constructor(context: TestContext) {
    context.after(() => this.files.close())
  }

  async next(): Promise<void> {
    if (this.#seen > 0) {
      this.#seen--
      return
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    // The watch does not keep the process alive, waiting for it does.
    const alive = setInterval(() => {}, 60_000)
    await promise.finally(() => clearInterval(alive))
  }
}
