/** The file of a configuration as the admin API shows and changes it: what is written is what runs, or neither is. */
import type { Applied, ConfigTexts, ShownText, TextVersion } from '#engine/admin/api/text.ts'
import { ChangedMeanwhile, type ConfigFile, NotWritable } from '#engine/standalone/config-file.ts'
import { Masks } from '#engine/standalone/masked-text.ts'
import { explainUnreadable } from '#engine/standalone/read.ts'
import type { Loaded } from './control.ts'

/** What puts a text in force. */
export interface Offering {
  /** What would become of it. */
  check(text: string): Promise<Loaded>
  /** Resolves to why it is not in force, or null. */
  offer(text: string): Promise<string | null>
}

export class FileTexts implements ConfigTexts {
  readonly #name: string
  readonly #file: ConfigFile | string
  readonly #offering: Offering
  readonly #masks = new Masks()
  /** One change at a time. */
  #queue: Promise<unknown> = Promise.resolve()

  /** `file`: a text says why there is none to change. */
  constructor(name: string, file: ConfigFile | string, offering: Offering) {
    this.#name = name
    this.#file = file
    this.#offering = offering
  }

  shown(): ShownText {
    const { text, textHash, why } = this.#found()
    const masked = text === null ? null : this.#masks.masked(text)
    const reason = why ?? (masked === null ? 'it has mistakes of syntax, so that its secrets cannot be told' : null)
    return { file: this.#name, text: masked, textHash, isWritable: reason === null, why: reason }
  }

  /** With the secrets of the file, and of its versions; null: a mask is of none of them. */
  withSecrets(text: string): string | null {
    return this.#masks.unmasked(text, this.#texts())
  }

  *#texts(): Generator<string> {
    yield this.#found().text ?? ''
    for (const { id } of this.versions()) yield this.#version(id) ?? ''
  }

  #found(): { readonly text: string | null; readonly textHash: string | null; readonly why: string | null } {
    if (typeof this.#file === 'string') return { text: null, textHash: null, why: this.#file }
    try {
      return this.#file.read()
    } catch (error) {
      return { text: null, textHash: null, why: explainUnreadable(this.#name, error as NodeJS.ErrnoException) }
    }
  }

  apply(text: string, textHash: string): Promise<Applied> {
    const run = this.#queue.then(() => this.#apply(text, textHash))
    this.#queue = run.catch(() => null)
    return run
  }

  async #apply(shown: string, textHash: string): Promise<Applied> {
    const file = this.#file
    const { text: before, textHash: found, why } = this.#found()
    if (typeof file === 'string' || before === null || why !== null)
      return { kind: 'notWritable', why: why ?? 'it cannot be read' }
    if (found !== textHash) return { kind: 'changed' }
    const text = this.withSecrets(shown)
    if (text === null) return { kind: 'unknownMask' }
    const checked = await this.#offering.check(text)
    if (!checked.ok) return { kind: 'wrong', errors: checked.errors }
    try {
      const written = file.write(text, textHash)
      const refused = await this.#offering.offer(text)
      if (refused === null)
        return { kind: 'applied', textHash: written, hash: checked.hash, warnings: checked.warnings }
      file.write(before, written)
      await this.#offering.offer(before)
      return { kind: 'notInForce', why: refused }
    } catch (error) {
      if (error instanceof ChangedMeanwhile) return { kind: 'changed' }
      if (error instanceof NotWritable) return { kind: 'notWritable', why: error.message }
      throw error
    }
  }

  versions(): readonly TextVersion[] {
    return typeof this.#file === 'string' ? [] : this.#file.versions()
  }

  version(id: string): string | null {
    const text = this.#version(id)
    return text === null ? null : this.#masks.masked(text)
  }

  #version(id: string): string | null {
    return typeof this.#file === 'string' ? null : this.#file.version(id)
  }
}
