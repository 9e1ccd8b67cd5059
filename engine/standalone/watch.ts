/**
 * Watching one configuration file, or the manifests of a folder. What is watched of a file is its folder: editors and
 * deploy tools replace files by renaming, and Kubernetes swaps a symbolic link beside the file (..data), so the file
 * that was opened first never changes. Events only say that it is worth looking; whether something changed is decided
 * by content.
 */
import { createHash } from 'node:crypto'
import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { ReadFile } from './file-sources.ts'
import { filesOf, type NamedText, readTextsAgain } from './texts.ts'

/** Writers that truncate and write, or replace several links, are given this long to finish. */
const DEBOUNCE_MS = 20
/** For file systems without events (NFS, some containers); reading 1 MB takes about a millisecond. */
const POLL_MS = 2_000
const POLL_MS_MIN = 1_000
/** Reading and hashing 13 MB takes 40 ms. */
const LARGE_BYTES = 1024 * 1024

export interface WatchOptions<T = string> {
  /** What is already in force: only something else is a change. Default: what the file has now. */
  readonly known?: T
  /** Time between two looks without an event; at least 1000. Default 2000. */
  readonly pollMs?: number
  /** The file is not there, or cannot be read, when it is looked at without an event: said once, until it is back. */
  readonly onGone?: () => void
}

export interface FileWatch {
  close(): void
}

/**
 * Calls `onChange` with the file's text whenever it becomes another one. A file that is gone or
 * cannot be read is waited for. Does not keep the process alive.
 */
export function watchFile(path: string, onChange: (text: string) => void, options: WatchOptions = {}): FileWatch {
  const { known, ...rest } = options
  const texts = known === undefined ? {} : { known: [{ name: path, text: known }] }
  return new Watcher(path, ([found]) => onChange(found?.text ?? ''), { ...rest, ...texts })
}

/** The same for a path that may lead to a folder: `onChange` gets the texts of all of its files. */
export function watchTexts(
  path: string,
  onChange: (texts: readonly NamedText[]) => void,
  options: WatchOptions<readonly NamedText[]> = {}
): FileWatch {
  return new Watcher(path, onChange, options)
}

/** The files that a configuration refers to, watched one by one. */
export class WatchedFiles {
  readonly #onChange: () => void
  readonly #watches = new Map<string, FileWatch>()
  #isClosed = false

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  /**
   * Watches `files`, each from the text that was read on. What is watched already and not among them is
   * left only if `isAll`: a configuration with mistakes may not have named all that it needs.
   */
  follow(files: readonly ReadFile[], isAll: boolean): void {
    if (this.#isClosed) return
    const wanted = new Set(files.map(({ path }) => path))
    for (const [path, watch] of this.#watches) {
      if (!isAll || wanted.has(path)) continue
      watch.close()
      this.#watches.delete(path)
    }
    for (const { path, text } of files) {
      if (!this.#watches.has(path)) this.#watches.set(path, watchFile(path, this.#onChange, { known: text }))
    }
  }

  /** What is watched. */
  get paths(): readonly string[] {
    return [...this.#watches.keys()]
  }

  close(): void {
    this.#isClosed = true
    for (const watch of this.#watches.values()) watch.close()
    this.#watches.clear()
  }
}

class Watcher implements FileWatch {
  readonly #path: string
  readonly #onChange: (texts: readonly NamedText[]) => void
  readonly #poll: NodeJS.Timeout
  /** By folder: that of the path, that of the file which it leads to, and the path itself where it is a folder. */
  readonly #watchers = new Map<string, FSWatcher>()
  #debounce: NodeJS.Timeout | null = null
  #hash: string | null
  #isGone = false
  /** Of the large file that was read last: when a poll finds the same, it is not read again. */
  #stamp = ''
  /** Files in which a poll has found nothing, and nothing has come since. */
  #emptyCount = 0
  readonly #onGone: () => void

  constructor(
    path: string,
    onChange: (texts: readonly NamedText[]) => void,
    options: WatchOptions<readonly NamedText[]>
  ) {
    const { known, pollMs = POLL_MS, onGone = () => {} } = options
    this.#path = path
    this.#onChange = onChange
    this.#onGone = onGone
    const texts = known ?? readNow(path)
    this.#hash = texts === null ? null : hash(texts)
    this.#rewatch()
    this.#poll = setInterval(() => this.#look(true), Math.max(POLL_MS_MIN, pollMs)).unref()
    // The file may have changed between the caller's reading of it and now.
    if (known !== undefined) this.#soon()
  }

  close(): void {
    clearInterval(this.#poll)
    if (this.#debounce !== null) clearTimeout(this.#debounce)
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #soon(): void {
    if (this.#debounce === null) this.#debounce = setTimeout(() => this.#look(), DEBOUNCE_MS).unref()
    else this.#debounce.refresh()
  }

  #look(isPoll = false): void {
    if (this.#debounce !== null) clearTimeout(this.#debounce)
    this.#debounce = null
    this.#rewatch()
    const stamp = stampOf(this.#path)
    if (isPoll && stamp !== '' && stamp === this.#stamp) return
    const texts = readNow(this.#path)
    this.#stamp = stamp
    if (texts === null) {
      // Between removal and replacement there is no file, but not for as long as that.
      if (isPoll && !this.#isGone) this.#onGone()
      this.#isGone ||= isPoll
      return
    }
    this.#isGone = false
    // Truncated, and not written yet: it is empty when it stays so.
    const emptyCount = texts.filter(({ text }) => text === '').length
    const isHalfWritten = emptyCount > this.#emptyCount
    this.#emptyCount = isPoll ? emptyCount : Math.min(emptyCount, this.#emptyCount)
    const now = hash(texts)
    if (now === this.#hash || isHalfWritten) return
    // No event has reported the change, so it may go on.
    if (isPoll) this.#soon()
    else {
      this.#hash = now
      this.#onChange(texts)
    }
  }

  /** Follows links to wherever they lead now. */
  #rewatch(): void {
    const found = [this.#path, ...foundAt(this.#path)].flatMap((file) => [dirname(file), dirname(realPath(file))])
    const folders = new Set(found.map((folder) => resolve(folder)))
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue
      watcher.close()
      this.#watchers.delete(folder)
    }
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#watchFolder(folder)
  }

  #watchFolder(folder: string): void {
    let watcher: FSWatcher
    try {
      watcher = watch(folder, { persistent: false }, () => this.#soon())
    } catch {
      // The folder is gone or events are not to be had: the next poll looks and tries again.
      return
    }
    watcher.on('error', () => {
      watcher.close()
      if (this.#watchers.get(folder) === watcher) this.#watchers.delete(folder)
    })
    this.#watchers.set(folder, watcher)
  }
}

/** What changes with large files, but within a tick of a clock; '' for small ones, which are as quickly read. */
function stampOf(path: string): string {
  const stats = foundAt(path).flatMap((file) => statSync(file, { throwIfNoEntry: false }) ?? [])
  if (stats.reduce((sum, { size }) => sum + size, 0) < LARGE_BYTES) return ''
  return stats.map(({ dev, ino, size, mtimeMs, ctimeMs }) => `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`).join()
}

/** Files that are there now. */
function foundAt(path: string): readonly string[] {
  try {
    return filesOf(path)
  } catch {
    // Nothing is there yet, or any more: what comes is found by what is watched around it.
    return []
  }
}

/** The texts, or null when one is not there or cannot be read (yet). */
function readNow(path: string): readonly NamedText[] | null {
  try {
    return readTextsAgain(path)
  } catch {
    // Between removal and replacement there is no file; a change is reported once there is one.
    return null
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // A link that leads nowhere: its own folder is watched.
    return path
  }
}

function hash(texts: readonly NamedText[]): string {
  const sum = createHash('sha256')
  for (const { name, text } of texts) sum.update(`${name}\0${text}\0`)
  return sum.digest('base64')
}
