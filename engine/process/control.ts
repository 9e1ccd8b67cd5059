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
import {
  type ConfigError,
  type ForeignFiles,
  formatErrors,
  hashOf,
  loadConfig,
  type SnapshotDraft
} from '#engine/standalone/load.ts'
import type { RemoteTexts } from '#engine/standalone/remote.ts'
import type { NamedText } from '#engine/standalone/texts.ts'
import type { Published, Supervisor } from '#engine/workers/supervisor.ts'
import { explainFailure, type InForce } from './in-force.ts'

export interface ControlPlaneOptions {
  readonly policies: readonly Policy[]
  readonly backends: readonly BackendKind[]
  /** Of the whole configuration in messages: the path of its file, or what stands for it. */
  readonly name: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where relative paths in the configuration begin. */
  readonly folder: string
  /** What backends make of themselves before they go to workers. */
  readonly prepare: (draft: SnapshotDraft, warn: PrepareContext['warn']) => Prepared<SnapshotDraft>
  /** Problems that show only when a Runtime is built from the draft. */
  readonly check: (draft: SnapshotDraft) => readonly Problem[]
  /** What knows files of other gateways; absent: nothing does. */
  readonly foreign?: ForeignFiles
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
  | { readonly ok: false; readonly errors: readonly ConfigError[]; readonly text: string }
)

/**
 * Validates `texts`: a configuration, or manifests of Kubernetes. Every mistake is in the result. `before`: the
 * configuration in force.
 */
export async function load(
  texts: readonly NamedText[],
  options: ControlPlaneOptions,
  before: Snapshot | null = null
): Promise<Loaded> {
  return await options.converted.loaded(
    async () =>
      (await loadIfManifest(texts, options, before)) ??
      refusedTogether(texts) ??
      (await options.remote.loaded(() => loadNow(texts[0]?.text ?? '', options, before)))
  )
}

/** Null: there is one text. */
function refusedTogether(texts: readonly NamedText[]): Loaded | null {
  if (texts.length <= 1) return null
  const message = 'is no manifest of Kubernetes, so it cannot be given beside other files'
  const hint = 'a configuration of weir is one file'
  const errors = texts.map(({ name: file }) => ({ file, line: 1, column: 1, path: '', message, hint }))
  return { ok: false, errors, text: formatErrors(errors), files: [], urls: [] }
}

/** What reads manifests is loaded where a text may be one. */
async function loadIfManifest(...[texts, options, before]: Required<Parameters<typeof load>>): Promise<Loaded | null> {
  if (!texts.some(({ text }) => text.includes('apiVersion'))) return null
  return (await import('./manifest.ts')).loadManifest(texts, options, before)
}

function loadNow(text: string, options: ControlPlaneOptions, before: Snapshot | null): Loaded {
  const { policies, backends, name, env, folder, check, prepare, foreign, remote, converted } = options
  const { read: readUrl } = remote
  const { read: readYaml } = converted
  const read = { readUrl, readYaml, ...(foreign && { foreign }) }
  const result = loadConfig(text, { file: name, env, folder, policies, backends, check, prepare, ...read, before })
  const { files, urls: fetched } = result
  const urls = [...fetched.keys()]
  if (!result.ok) return { ok: false, errors: result.errors, text: formatErrors(result.errors), files, urls }
  const { snapshot: draft, warnings, expanded, places } = result
  return { ok: true, draft, warnings, expanded, places, hash: hashOf(text, files, fetched), files, urls }
}

export class ControlPlane {
  /** Those that are known without DNS. */
  #hosts: HostLists = {}
  /** Of the last configuration that was accepted. */
  #urls: readonly string[] = []
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
    this.#follow(loaded)
    const run = this.#queue.then(() => this.#publish(loaded))
    this.#queue = run
    return run
  }

  /** Validates `texts` and, if they are good, puts them in force everywhere; else what runs stays. */
  reload(texts: readonly NamedText[]): Promise<void> {
    const run = this.#queue.then(() => this.#reload(texts))
    this.#queue = run
    return run
  }

  /** What would become of `text` in place of all that is in force; nothing is put in force. */
  check(text: string): Promise<Loaded> {
    const { name } = this.#options
    const run = this.#queue.then(async () => {
      const before = this.#inForce.status.snapshot
      const loaded = await load([{ name, text }], this.#options, before)
      // What was fetched for it alone is not asked for again.
      this.#options.remote.follow(this.#urls, true)
      return loaded.ok ? { ...loaded, warnings: [...loaded.warnings, ...needsRestart(loaded.draft, before)] } : loaded
    })
    // The caller is told of its failure; what comes next goes on.
    this.#queue = run.catch(() => null)
    return run
  }

  async #reload(texts: readonly NamedText[]): Promise<void> {
    const { log } = this.#options
    const { snapshot } = this.#inForce.status
    const loaded = await load(texts, this.#options, snapshot)
    this.onFiles(loaded.files, loaded.ok)
    this.#follow(loaded)
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
    for (const warning of needsRestart(loaded.draft, snapshot)) log('warn', warning)
    const outcome = await this.#publish(loaded)
    if (outcome.ok) log('info', `configuration ${loaded.hash} in force`)
    else this.#inForce.refuse(`configuration not put in force, the one before stays: ${explainFailure(outcome)}`)
  }

  #follow({ urls, ok }: Loaded): void {
    const all = [...urls]
    if (ok) this.#urls = all
    this.#options.remote.follow(all, ok)
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

/** `config` is read at start only: says so where it has changed. */
function needsRestart(draft: SnapshotDraft, before: Snapshot | null): readonly string[] {
  if (before === null) return []
  const changed = (Object.keys(draft.process) as (keyof Snapshot['process'])[]).filter(
    (key) => JSON.stringify(draft.process[key]) !== JSON.stringify(before.process[key])
  )
  return changed.length === 0 ? [] : [`needs a restart to take effect: config.${changed.join(', config.')}`]
}
