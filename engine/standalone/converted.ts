/**
 * YAML documents of APIs that are too long to be read in the main thread, which serves the admin port: another one
 * makes JSON of them, which is read thirty times as fast. As with remote.ts, who loads a configuration has them made,
 * and loads again.
 */
import { readPlain } from './source.ts'

/** To read as many takes some 30 ms. */
const HERE_CHARS_MAX = 65_536
/** Of the JSON, nearly: what aliases repeat is written out. A document has less (openapi/document.ts). */
const JSON_CHARS_MAX = 64 * 1024 * 1024
const LATER = 'it has not been read yet'

export class ConvertedTexts {
  readonly #convert: (yaml: string) => Promise<string>
  /** JSON by YAML; an Error says why there is none. */
  readonly #known = new Map<string, string | Error>()
  readonly #missing = new Set<string>()

  constructor(convert: (yaml: string) => Promise<string>) {
    this.#convert = convert
  }

  /** As readPlain. Throws an Error that says in words why there is no value. */
  readonly read = (yaml: string): unknown => {
    if (yaml.length <= HERE_CHARS_MAX) return readPlain(yaml)
    const json = this.#known.get(yaml)
    if (typeof json === 'string') return JSON.parse(json)
    if (json !== undefined) throw json
    this.#missing.add(yaml)
    throw new Error(LATER)
  }

  /** Loads what is to be loaded, again and again until every text that it reads has been converted. */
  async loaded<T>(load: () => Promise<T>): Promise<T> {
    try {
      for (;;) {
        this.#missing.clear()
        const result = await load()
        if (this.#missing.size === 0) return result
        await Promise.all([...this.#missing].map((yaml) => this.#make(yaml)))
      }
    } finally {
      this.#known.clear()
    }
  }

  async #make(yaml: string): Promise<void> {
    try {
      this.#known.set(yaml, await this.#convert(yaml))
    } catch (error) {
      this.#known.set(yaml, error as Error)
    }
  }
}

/** In the other thread. Throws an Error with the first mistake. */
export function jsonOfYaml(yaml: string): string {
  const value = readPlain(yaml)
  let chars = 0
  const count = (item: unknown): void => {
    chars += typeof item === 'string' ? item.length : 4
    if (chars > JSON_CHARS_MAX) throw new Error(`has more than ${JSON_CHARS_MAX} characters, with what aliases repeat`)
    if (typeof item !== 'object' || item === null) return
    for (const [key, inner] of Object.entries(item)) {
      chars += key.length
      count(inner)
    }
  }
  count(value)
  return JSON.stringify(value)
}
