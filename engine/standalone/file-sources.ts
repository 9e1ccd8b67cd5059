/** Files that a configuration refers to: read once per loading, noted, so that they can be watched. */
import { isAbsolute, resolve } from 'node:path'
import type { Sources } from '#engine/contract/policy.ts'
import { explainUnreadable, readReference } from './read.ts'

/** A file that was asked for, whether it could be read or not. */
export interface ReadFile {
  /** Absolute. */
  readonly path: string
  /** Empty when it could not be read. */
  readonly text: string
}

/** PEM, or more than one line: no path that anybody means. */
const IN_PLACE = /-----BEGIN|[\n\r\0]/

export class FileSources implements Sources {
  readonly #folder: string
  readonly #read: (path: string) => string
  /** By absolute path; an Error says why a file cannot be read. */
  readonly #texts = new Map<string, string | Error>()

  /** `folder`: where relative paths begin. `read`: the text of the file at an absolute path. */
  constructor(folder: string, read: (path: string) => string = readReference) {
    this.#folder = folder
    this.#read = read
  }

  /** In the order in which they were asked for. */
  get files(): readonly ReadFile[] {
    return [...this.#texts].map(([path, text]) => ({ path, text: typeof text === 'string' ? text : '' }))
  }

  readonly readFile = (path: string): string => {
    // A key that is written in place of its path must not come back in a message, nor among the files to watch.
    if (IN_PLACE.test(path)) throw new Error('must be the path of a file, not the text of it')
    const full = isAbsolute(path) ? path : resolve(this.#folder, path)
    let text = this.#texts.get(full)
    if (text === undefined) {
      text = this.#readNow(full)
      this.#texts.set(full, text)
    }
    if (typeof text === 'string') return text
    throw text
  }

  #readNow(full: string): string | Error {
    let text: string
    try {
      text = this.#read(full)
    } catch (error) {
      return new Error(explainUnreadable(full, error as NodeJS.ErrnoException))
    }
    // What reading a file as UTF-8 puts where the bytes are none.
    return text.includes('\uFFFD') ? new Error(`cannot read ${full}: it is not UTF-8 text`) : text
  }
}
