/** The text of a configuration -> what is in force, again whenever it changes; or why it stays as it is. */
import type { Prepared } from '#engine/build/prepare.ts'
import type { BackendKind, PrepareContext } from '#engine/contract/backend.ts'
import type { Problem } from '#engine/contract/config-error.ts'
import type { HostLists } from '#engine/contract/endpoint.ts'
import type { Policy } from '#engine/contract/policy.ts'
import type { Expanded } from '#engine/ir/expanded.ts'
import type { Places } from '#engine/ir/places.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import type { ConvertedTexts } from '#engine/standalone/converted.ts'
import type { ReadFile } from '#engine/standalone/file-sources.ts'
import { formatErrors, hashOf, loadConfig, type SnapshotDraft } from '#engine/standalone/load.ts'
import type { RemoteTexts } from '#engine/standalone/remote.ts'
import type { Published, Supervisor } from '#engine/workers/supervisor.ts'
import { explainFailure, type InForce } from './in-force.ts'

export interface ControlPlaneOptions {
  readonly policies: readonly Policy[]
  readonly backends: readonly BackendKind[]
  /** Named in messages: the file's path, or what stands for it. */
  readonly name: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where relative paths in the configuration begin. */
  readonly folder: string
  /** What backends make of themselves before they go to workers. */
  readonly prepare: (draft: SnapshotDraft, warn: PrepareContext['warn']) => Prepared<SnapshotDraft>
  /** Problems that show only when a Runtime is built from the draft. */
  readonly check: (draft: SnapshotDraft) => readonly Problem[]
  /** Texts of URLs that a configuration refers to. */
  readonly remote: RemoteTexts
  /** Documents in YAML that another thread reads. */
  readonly converted: ConvertedTexts
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void
}

/** `files`, `urls`: what the configuration refers to. */
export type Loaded = { readonly files: readonly ReadFile[]; readonly urls: Iterable<string> } & (
  | {
      readonly ok: true
      readonly draft: SnapshotDraft
      readonly hash: string
      readonly warnings: readonly string[]
      readonly expanded: readonly Expanded[]
      readonly places: () => Places
      /** Hosts that are known without DNS. Absent: all names are for DNS. */
      readonly hosts?: HostLists
    }
  | { readonly ok: false; readonly count: number; readonly text: string }
)

/** Validates `text`; every mistake is in the result. `before`: the configuration in force. */
export async function load(
  text: string,
  options: ControlPlaneOptions,
  before: Snapshot | null = null
): Promise<Loaded> {
  return await options.converted.loaded(
    async () =>
      (await loadIfManifest(text, options, before)) ??
      (await options.remote.loaded(() => loadNow(text, options, before)))
  )
}

/** What reads manifests is loaded for a text that may be one. */
async function loadIfManifest(...[text, options, before]: Required<Parameters<typeof load>>): Promise<Loaded | null> {
  if (!text.includes('apiVersion')) return null
  return (await import('./manifest.ts')).loadManifest(text, options, before)
}

function loadNow(text: string, options: ControlPlaneOptions, before: Snapshot | null): Loaded {
  const { policies, backends, name, env, folder, check, prepare, remote, converted } = options
  const { read: readUrl } = remote
  const { read: readYaml } = converted
  const read = { readUrl, readYaml }
  const result = loadConfig(text, { file: name, env, folder, policies, backends, check, prepare, ...read, before })
  const { files, urls: fetched } = result
  const urls = [...fetched.keys()]
  if (!result.ok) return { ok: false, count: result.errors.length, text: formatErrors(result.errors), files, urls }
  const { snapshot: draft, warnings, expanded, places } = result
  return { ok: true, draft, warnings, expanded, places, hash: hashOf(text, files, fetched), files, urls }
}

export class ControlPlane {
  /** Those that are known without DNS. */
  #hosts: HostLists = {}
  /** One reload at a time: a file that changes twice is read twice, in order. */
  #queue: Promise<unknown> = Promise.resolve()
  readonly #options: ControlPlaneOptions
  readonly #supervisor: Supervisor
  readonly #inForce: InForce

  constructor(options: ControlPlaneOptions, supervisor: Supervisor, inForce: InForce) {
    this.#options = options
    this.#supervisor = supervisor
    this.#inForce = inForce
  }

  /** The files that a configuration refers to, after it was accepted or refused. */
  onFiles: (files: readonly ReadFile[], isAccepted: boolean) => void = () => {}

  /** Puts the first configuration in force. */
  first(loaded: Loaded & { ok: true }): Promise<Published> {
    this.#options.remote.follow(loaded.urls, true)
    const run = this.#queue.then(() => this.#publish(loaded))
    this.#queue = run
    return run
  }

  /** Validates `text` and, if it is good, puts it in force everywhere; else what runs stays. */
  reload(text: string): Promise<void> {
    const run = this.#queue.then(() => this.#reload(text))
    this.#queue = run
    return run
  }

  async #reload(text: string): Promise<void> {
    const { log } = this.#options
    const { snapshot } = this.#inForce.status
    const loaded = await load(text, this.#options, snapshot)
    this.onFiles(loaded.files, loaded.ok)
    this.#options.remote.follow(loaded.urls, loaded.ok)
    if (loaded.ok && loaded.hash === snapshot?.hash) {
      log('info', `configuration ${loaded.hash} is offered again: it is what runs`)
      this.#inForce.offeredAgain()
      return
    }
    if (!loaded.ok) {
      this.#inForce.refuse(`configuration refused, the one before stays in force:\n${loaded.text}`)
      return
    }
    for (const warning of loaded.warnings) log('warn', warning)
    this.#warnStatic(loaded.draft, snapshot)
    const outcome = await this.#publish(loaded)
    if (outcome.ok) log('info', `configuration ${loaded.hash} in force`)
    else this.#inForce.refuse(`configuration not put in force, the one before stays: ${explainFailure(outcome)}`)
  }

  /** `config` is read at start only: say so when it changes. */
  #warnStatic(draft: SnapshotDraft, before: Snapshot | null): void {
    if (before === null) return
    const changed = (Object.keys(draft.process) as (keyof Snapshot['process'])[]).filter(
      (key) => JSON.stringify(draft.process[key]) !== JSON.stringify(before.process[key])
    )
    if (changed.length > 0)
      this.#options.log('warn', `needs a restart to take effect: config.${changed.join(', config.')}`)
  }

  /** Before the Snapshot that needs them. What is not in `hosts` any more is for DNS again. */
  #setHosts(hosts: HostLists): void {
    const gone = Object.keys(this.#hosts).filter((name) => !Object.hasOwn(hosts, name))
    this.#supervisor.setHosts({ ...Object.fromEntries(gone.map((name) => [name, null])), ...hosts })
    this.#hosts = hosts
  }

  async #publish({ draft, hash, expanded, places, hosts }: Loaded & { ok: true }): Promise<Published> {
    if (hosts !== undefined) this.#setHosts(hosts)
    return await this.#inForce.publish({ draft, hash, expanded, places: places() })
  }
}
