/**
 * The file of a configuration, as somebody changes it from outside of an editor: what it says with a hash of that, put
 * in place of what is known and nothing else, and what it said before. Versions lie beside the file, in
 * `.NAME.versions`, for its owner alone: a configuration may have secrets written in it.
 */
import { createHash, randomUUID } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { CONFIG_TEXT_BYTES_MAX } from '#engine/contract/config-text.ts'

/** Kept of one file; the oldest go. */
export const VERSIONS_MAX = 20

/** A time, and the first part of the hash of the text: no path. */
const VERSION_NAME = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)-([0-9a-f]{12})$/
const HASH_CHARS = 12

/** For people: codes of the system that say why a file cannot be put in place. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write in its folder',
  EPERM: 'this user may not give a new file the owner of the file that is there',
  EROFS: 'its folder is read-only',
  EBUSY: 'it is a mount of its own, which nothing can take the place of: mount its folder instead',
  ENOSPC: 'there is no room left',
  EDQUOT: 'there is no room left'
}

/** Why a file is not written, for people: begins with "it", of the file. */
export class NotWritable extends Error {}

/** The file says something else than the caller knows. */
export class ChangedMeanwhile extends Error {}

export interface FileText {
  /** Null: it is too long, or no text. */
  readonly text: string | null
  /** SHA-256 of its bytes in hex. */
  readonly textHash: string
  /** Why it cannot be written; null: it can, as far as is known without trying. */
  readonly why: string | null
}

export interface FileVersion {
  readonly id: string
  /** When another text took its place; ISO time. */
  readonly replacedAt: string
  readonly bytes: number
}

export class ConfigFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** Throws the system's error when it cannot be read. */
  read(): FileText {
    const bytes = readFileSync(this.#path)
    const textHash = hashOf(bytes)
    if (bytes.length > CONFIG_TEXT_BYTES_MAX)
      return { text: null, textHash, why: `it is longer than ${CONFIG_TEXT_BYTES_MAX >> 20} MiB` }
    const text = bytes.toString('utf8')
    if (!Buffer.from(text).equals(bytes)) return { text: null, textHash, why: 'it is not UTF-8' }
    return { text, textHash, why: this.#whyNot() }
  }

  #whyNot(): string | null {
    try {
      accessSync(dirname(realpathSync(this.#path)), constants.W_OK)
      return null
    } catch (error) {
      return reasonOf(error)
    }
  }

  /**
   * Puts `text` in place of the text with `textHash`, at once or not at all, and keeps that one. Links go on to lead
   * to it; mode and owner stay. Returns the hash of `text`. Throws ChangedMeanwhile and NotWritable.
   */
  write(text: string, textHash: string): string {
    try {
      return this.#write(Buffer.from(text), textHash)
    } catch (error) {
      if (error instanceof ChangedMeanwhile) throw error
      throw new NotWritable(reasonOf(error))
    }
  }

  #write(bytes: Buffer, textHash: string): string {
    const path = realpathSync(this.#path)
    const { mode, uid, gid } = statSync(path)
    const made = join(dirname(path), `.${basename(path)}.${randomUUID()}`)
    try {
      writeNew(made, bytes, (file) => {
        const own = fstatSync(file)
        if (own.uid !== uid || own.gid !== gid) fchownSync(file, uid, gid)
        fchmodSync(file, mode & 0o7777)
      })
      const before = readFileSync(path)
      if (hashOf(before) !== textHash) throw new ChangedMeanwhile()
      if (!before.equals(bytes)) this.#keep(path, before)
      renameSync(made, path)
    } catch (error) {
      rmSync(made, { force: true })
      throw error
    }
    syncFolder(dirname(path))
    return hashOf(bytes)
  }

  #keep(path: string, bytes: Buffer): void {
    const folder = versionsOf(path)
    mkdirSync(folder, { mode: 0o700, recursive: true })
    const at = new Date().toISOString().replaceAll(':', '-')
    const name = join(folder, `${at}-${hashOf(bytes).slice(0, HASH_CHARS)}`)
    // The same text in the same millisecond is there already.
    if (statSync(name, { throwIfNoEntry: false }) === undefined) writeNew(name, bytes)
    syncFolder(folder)
    for (const old of namesIn(folder).slice(VERSIONS_MAX)) unlinkSync(join(folder, old))
  }

  /** The newest first. */
  versions(): readonly FileVersion[] {
    const folder = this.#versions()
    return namesIn(folder).flatMap((id) => {
      const size = statSync(join(folder, id), { throwIfNoEntry: false })?.size
      return size === undefined ? [] : [{ id, replacedAt: timeOf(id), bytes: size }]
    })
  }

  /** What it said; null: there is no such version. */
  version(id: string): string | null {
    if (!VERSION_NAME.test(id)) return null
    try {
      return readFileSync(join(this.#versions(), id), 'utf8')
    } catch {
      // Others have been kept since it was listed.
      return null
    }
  }

  #versions(): string {
    return versionsOf(realpathSync(this.#path))
  }
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const versionsOf = (path: string): string => join(dirname(path), `.${basename(path)}.versions`)

const timeOf = (id: string): string => id.replace(VERSION_NAME, '$1:$2:$3')

function namesIn(folder: string): readonly string[] {
  try {
    const names = readdirSync(folder).filter((name) => VERSION_NAME.test(name))
    return names.toSorted().toReversed()
  } catch {
    // None has been kept yet.
    return []
  }
}

/** Readable by its owner alone, unless `prepare` says more. What it has is on the disk when this returns. */
function writeNew(path: string, bytes: Buffer, prepare: (file: number) => void = () => {}): void {
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600)
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    prepare(file)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return REASONS[code] ?? message
}
