/** The configuration is a text: of a file, which is watched, of the command line, or the built-in demonstration. */
import { listenedOn } from '#engine/socket/listening.ts'
import { explainUnreadable, readAgain } from '#engine/standalone/read.ts'
import { type FileWatch, WatchedFiles, watchFile } from '#engine/standalone/watch.ts'
import type { Published } from '#engine/workers/supervisor.ts'
import { ControlPlane, type ControlPlaneOptions, type Loaded } from './control.ts'
import type { SnapshotSource, SourceParts } from './snapshot-source.ts'

export interface ConfigText {
  /** Named in messages. */
  readonly name: string
  readonly text: string
  /** Watched and read again; null when there is no file. */
  readonly path: string | null
  readonly isDefault: boolean
}

const SHARED_PORT =
  'is shared with another process that listens there: each connection goes to one or the other until that one ends'

export class FileSource implements SnapshotSource {
  readonly isRemote = false
  readonly #source: ConfigText
  readonly #loaded: Loaded & { ok: true }
  readonly #controlPlane: ControlPlane
  readonly #log: SourceParts['log']
  #watch: FileWatch | null = null
  /** Files that the configuration refers to: when one of them changes, all is read again. */
  readonly #references = new WatchedFiles(() => this.reload())
  #sharedPorts: readonly number[] = []
  #isClosed = false

  constructor(
    source: ConfigText,
    loaded: Loaded & { ok: true },
    options: ControlPlaneOptions,
    { inForce, supervisor, log }: SourceParts
  ) {
    this.#source = source
    this.#loaded = loaded
    this.#log = log
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
    const { path, text } = this.#source
    if (path !== null) this.#watch = this.#watchSource(path, text)
  }

  #watchSource(path: string, known: string): FileWatch {
    const onGone = () =>
      this.#log('warn', `${path} cannot be read any more: what runs stays, until it is back and changed`)
    return watchFile(path, (fresh) => void this.#controlPlane.reload(fresh), { known, onGone })
  }

  reload(): void {
    if (this.#isClosed) return
    const { path, text, name } = this.#source
    try {
      // A text from the command line stays as it is; what it refers to may have changed.
      void this.#controlPlane.reload(path === null ? text : readAgain(path))
    } catch (error) {
      this.#log('error', `${explainUnreadable(name, error as NodeJS.ErrnoException)}; what runs stays`)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#watch?.close()
    this.#references.close()
  }
}
