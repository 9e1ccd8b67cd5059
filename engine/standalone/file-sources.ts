/** Files that a configuration refers to: read once per loading, noted, so that they can be watched. */
import { isAbsolute, resolve } from 'node:path'
import type { Documents } from '#engine/contract/policy.ts'
import { looksLikeKey } from '#engine/kit/sensitive.ts'
import { explainUnreadable, readLarge, readReference } from './read.ts'
import { readPlain } from './source.ts'

/** A file that was asked for, whether it could be read or not. */
export interface ReadFile {
  /** Absolute. */
  readonly path: string
  /** Empty when it could not be read. */
  readonly text: string
}

/** PEM, more than one line, many letters and digits without a folder or an ending: no path that is meant. */
const IN_PLACE = /-----BEGIN|[\n\r\0]|^(?=.*\d)(?=.*[A-Za-z])[\w+-]{20,}=*$|^[\w+/-]{20,}={1,2}$/

export class FileSources implements Documents {
  readonly #folder: string
  readonly #read: ((path: string) => string) | undefined
  readonly #readUrl: (url: string) => string
  readonly #urls = new Map<string, string>()
  /** By absolute path; an Error says why a file cannot be read. */
  readonly #texts = new Map<string, string | Error>()

  readonly readYaml: (text: string) => unknown

  /** `folder`: where relative paths begin. `read`, `readUrl`: the text at an absolute path, at a URL. */
  constructor(
    folder: string,
    read?: (path: string) => string,
    readUrl: (url: string) => string = notHere,
    readYaml: (text: string) => unknown = readPlain
  ) {
    this.readYaml = readYaml
    this.#folder = folder
    this.#read = read
    this.#readUrl = readUrl
  }

  /** Texts of URLs, by URL. */
  get urls(): ReadonlyMap<string, string> {
    return this.#urls
  }

  readonly readUrl = (url: string): string => {
    const text = this.#readUrl(url)
    this.#urls.set(url, text)
    return text
  }

  /** In the order in which they were asked for. */
  get files(): readonly ReadFile[] {
    return [...this.#texts].map(([path, text]) => ({ path, text: typeof text === 'string' ? text : '' }))
  }

  readonly readFile = (path: string): string => this.#readOnce(path, readReference)

  readonly readLarge = (path: string): string => this.#readOnce(path, readLarge)

  #readOnce(path: string, usual: (path: string) => string): string {
    const full = isAbsolute(path) ? path : resolve(this.#folder, path)
    let text = this.#texts.get(full)
    if (text === undefined) {
      text = this.#readNow(full, this.#read ?? usual)
      // A key that is written in place of its path must not come back in a message, nor among the files to watch; but
      // what can be read is a file, whatever hashes its name is made of.
      const isSecret = typeof text !== 'string' && (IN_PLACE.test(path) || looksLikeKey(path))
      if (isSecret) throw new Error('must be the path of a file, not the text of it')
      this.#texts.set(full, text)
    }
    if (typeof text === 'string') return text
    throw text
  }

  #readNow(full: string, read: (path: string) => string): string | Error {
    let text: string
    try {
      text = read(full)
    } catch (error) {
      return new Error(explainUnreadable(full, error as NodeJS.ErrnoException))
    }
    // What reading a file as UTF-8 puts where the bytes are none.
    return text.includes('\uFFFD') ? new Error(`cannot read ${full}: it is not UTF-8 text`) : text
  }
}

function notHere(): never {
  throw new Error('URLs are not read here')
}
