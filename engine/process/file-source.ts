/** The configuration is texts: of files, which are watched, of the command line, or the built-in demonstration. */
import { listenedOn } from '#engine/socket/listening.ts'
import { ConfigFile } from '#engine/standalone/config-file.ts'
import { explainUnreadable } from '#engine/standalone/read.ts'
import { type NamedText, readTextsAgain } from '#engine/standalone/texts.ts'
import { type FileWatch, WatchedFiles, watchTexts } from '#engine/standalone/watch.ts'
import type { Published } from '#engine/workers/supervisor.ts'
import { ControlPlane, type ControlPlaneOptions, type Loaded } from './control.ts'
import { FileTexts } from './file-texts.ts'
import type { SnapshotSource, SourceParts } from './snapshot-source.ts'

/** What was given, and the texts that it led to. */
export interface ConfigInput {
  /** A file or a folder, watched and read again; null: nothing is behind the text. */
  readonly path: string | null
  readonly texts: readonly NamedText[]
}

export interface ConfigTexts {
  /** Named in messages. */
  readonly name: string
  readonly inputs: readonly ConfigInput[]
  readonly isDefault: boolean
}

export const textsOf = (inputs: readonly ConfigInput[]): readonly NamedText[] => inputs.flatMap(({ texts }) => texts)

const SHARED_PORT =
  'is shared with another process that listens there: each connection goes to one or the other until that one ends'

/** What its text can be changed in, or why that is nowhere. */
function fileOf({ name, inputs: [input, ...more] }: ConfigTexts): ConfigFile | string {
  if (more.length > 0) return 'the configuration is several files'
  if (input?.path == null) return `the configuration is no file: ${name}`
  return input.texts[0]?.name === input.path ? new ConfigFile(input.path) : 'the configuration is a folder'
}

export class FileSource implements SnapshotSource {
  readonly isRemote = false
  readonly #source: ConfigTexts
  readonly #loaded: Loaded & { ok: true }
  readonly #controlPlane: ControlPlane
  readonly #log: SourceParts['log']
  readonly #inForce: SourceParts['inForce']
  readonly texts: FileTexts
  /** What each input has by now. */
  readonly #inputs: ConfigInput[]
  #watches: readonly FileWatch[] = []
  /** Files that the configuration refers to: when one of them changes, all is read again. */
  readonly #references = new WatchedFiles(() => this.reload())
  #sharedPorts: readonly number[] = []
  #isClosed = false

  constructor(
    source: ConfigTexts,
    loaded: Loaded & { ok: true },
    options: ControlPlaneOptions,
    { inForce, supervisor, log }: SourceParts
  ) {
    this.#source = source
    this.#inputs = [...source.inputs]
    this.#loaded = loaded
    this.#log = log
    this.#inForce = inForce
    this.texts = new FileTexts(source.name, fileOf(source), this)
    this.#controlPlane = new ControlPlane({ ...options, log }, supervisor, inForce)
    options.remote.log = log
    options.remote.onChange = () => this.reload()
    this.#controlPlane.onFiles = (files, isAccepted) => this.#references.follow(files, isAccepted)
  }

  first(): Promise<Published> {
    this.#sharedPorts = listenedOn(this.#loaded.draft.binds.map(({ port }) => port))
    return this.#controlPlane.first(this.#loaded)
  }

  follow(): void {
    for (const port of this.#sharedPorts) this.#log('warn', `port ${port} ${SHARED_PORT}`)
    this.#references.follow(this.#loaded.files, true)
    this.#watches = this.#inputs.flatMap(({ path, texts }, i) =>
      path === null ? [] : this.#watchInput(i, path, texts)
    )
  }

  #watchInput(index: number, path: string, known: readonly NamedText[]): FileWatch {
    const onGone = () =>
      this.#log('warn', `${path} cannot be read any more: what runs stays, until it is back and changed`)
    const onChange = (texts: readonly NamedText[]) => {
      this.#inputs[index] = { path, texts }
      void this.#controlPlane.reload(textsOf(this.#inputs))
    }
    return watchTexts(path, onChange, { known, onGone })
  }

  /** Puts the text of its only file in force. Resolves to why it is not, or null. */
  async offer(text: string): Promise<string | null> {
    const { path = null } = this.#inputs[0] ?? {}
    this.#inputs[0] = { path, texts: [{ name: path ?? this.#source.name, text }] }
    await this.#controlPlane.reload(textsOf(this.#inputs))
    return this.#inForce.status.lastError?.message ?? null
  }

  reload(): void {
    if (this.#isClosed) return
    try {
      // A text from the command line stays as it is; what it refers to may have changed.
      for (const [i, { path }] of this.#inputs.entries())
        if (path !== null) this.#inputs[i] = { path, texts: readTextsAgain(path) }
      void this.#controlPlane.reload(textsOf(this.#inputs))
    } catch (error) {
      const { path = this.#source.name } = error as NodeJS.ErrnoException
      this.#log('error', `${explainUnreadable(path, error as NodeJS.ErrnoException)}; what runs stays`)
    }
  }

  /** A mask of no secret stays what it is: text. */
  check(text: string): Promise<Loaded> {
    return this.#controlPlane.check(this.texts.withSecrets(text) ?? text)
  }

  close(): void {
    this.#isClosed = true
    for (const watch of this.#watches) watch.close()
    this.#references.close()
  }
}
