/** Keeps what it has translated: a change of objects costs what depends on them. */
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Translation, TranslatorOptions } from './options.ts'

export class Translator {
  readonly #options: TranslatorOptions

  constructor(options: TranslatorOptions) {
    this.#options = options
  }

  /** Pure but for what it keeps. `changed`: since the last call, with what came and went; null: everything. */
  update(_objects: Objects, _changed: Iterable<ObjectKey> | null): Translation {
    void this.#options
    return { gateways: new Map(), statuses: new Map() }
  }
}
