/**
 * `weir -f` with a manifest of Kubernetes: its Gateways are translated as the controller translates them, and served by
 * this process. What an API server and a controller would answer stands on the terminal, with its place in the file.
 */
import { availableParallelism } from 'node:os'
import { type PlaceEntry, Places } from '#engine/ir/places.ts'
import { share } from '#engine/ir/share.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { memoryLimit } from '#engine/kit/memory-limit.ts'
import { withoutKeys } from '#engine/kit/sensitive.ts'
import { endpointsOf, type ServiceEndpoints } from '#engine/kubernetes/endpoints/index.ts'
import { isObject, type Manifest, type ManifestPlace, readObjects } from '#engine/kubernetes/manifests/manifest.ts'
import { complaintsOf } from '#engine/kubernetes/manifests/statuses.ts'
import { servedTogether } from '#engine/kubernetes/manifests/together.ts'
import { type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import { resourcesOf } from '#engine/kubernetes/resources/index.ts'
import { type GatewayOutput, type Translation, Translator } from '#engine/kubernetes/translation/index.ts'
import { objectOf, type Path, parsePath } from '#engine/schema/placed.ts'
import { distinct } from '#engine/source/compile.ts'
import { FAULT, hashOf, loadConfig, type SnapshotDraft } from '#engine/standalone/load.ts'
import { type ManifestDocument, readManifest } from '#engine/standalone/manifest.ts'
import { type ConfigError, formatErrors, formatPath } from '#engine/standalone/problems.ts'
import type { NamedText } from '#engine/standalone/texts.ts'
import type { ControlPlaneOptions, Loaded } from './control.ts'

/** Null: `texts` are no manifests. Never throws. */
export function loadManifest(
  texts: readonly NamedText[],
  options: ControlPlaneOptions,
  before: Snapshot | null
): Loaded | null {
  const documents = readManifest(texts, isObject)
  if (documents === null) return null
  try {
    return loadDocuments(documents, hashOfTexts(texts), options, before)
  } catch (error) {
    // A reload must never end what runs.
    const message = `${FAULT} (${String(error)}): please report it`
    return refused([{ file: options.name, line: 1, column: 1, path: '', message }])
  }
}

/** All of them together tell which configuration this is. */
const hashOfTexts = (texts: readonly NamedText[]): string =>
  hashOf(
    texts[0]?.text ?? '',
    texts.slice(1).map(({ name, text }) => ({ path: name, text }))
  )

function loadDocuments(
  documents: readonly ManifestDocument[],
  hash: string,
  options: ControlPlaneOptions,
  before: Snapshot | null
): Loaded {
  const manifest = readObjects(
    documents.map(({ value, broken }) => (broken ? null : value)),
    resourcesOf(options.policies, options.backends)
  )
  const where = new Where(documents, manifest)
  const mistakes = [...where.syntax(), ...manifest.findings.map((finding) => where.finding(finding))]
  if (mistakes.length > 0) return refused(where.inOrder(mistakes))
  const translator = translatorOf(options)
  const translation = translator.update(ObjectStore.of(manifest.objects), null)
  const complaints = [...translation.statuses].flatMap(([key, status]) =>
    complaintsOf(status).map(({ isRefused, ...complaint }) => ({ isRefused, error: where.complaint(key, complaint) }))
  )
  const errors = complaints.flatMap(({ isRefused, error }) => (isRefused ? [error] : []))
  if (errors.length > 0) return refused(where.inOrder(errors))
  const accumulating = new Set(options.policies.filter((one) => one.accumulates === true).map(({ name }) => name))
  const together = servedTogether(inOrder(translation, manifest), accumulating)
  const draft = together.draft ?? nothing(options)
  const left = together.leftOut.map(({ gateway, reason }) =>
    where.complaint(keyOf(gateway), { message: `is not served by this process: ${reason}`, path: [] })
  )
  const stumbles = translator.stumbles.take().filter(({ place }) => !translation.statuses.has(place.key))
  const unread = stumbles.map(({ place: { key }, message }) => where.complaint(key, { message, path: [] }))
  const doubts = where.inOrder([...complaints.map(({ error }) => error), ...left, ...unread])
  const warnings = [...translation.gateways.values()].flatMap((output) => output.warnings)
  const { hosts, notes } = hostsOf(manifest.objects, together.services)
  return {
    ok: true,
    draft: share(before, draft),
    hash,
    warnings: [
      ...[...manifest.notes, ...notes, ...(together.draft === null ? [NO_GATEWAY] : [])].map(
        (note) => `${options.name}: ${note}`
      ),
      ...doubts.map((doubt) => formatErrors([doubt])),
      ...distinctTexts([...manifest.doubts, ...warnings]).map((warning) => where.text(warning))
    ],
    hosts,
    expanded: [],
    places: () => Places.of(together.places().map(([at, place]): PlaceEntry => [at, where.placeOf(place)])),
    files: [],
    urls: []
  }
}

const NO_GATEWAY = 'there is no Gateway of weir among the resources, so nothing is served'

/** A Snapshot without ports. */
function nothing({ policies, backends, env, name }: ControlPlaneOptions): SnapshotDraft {
  const loaded = loadConfig('binds: []', { file: name, env, policies, backends })
  if (!loaded.ok) throw new Error(formatErrors(loaded.errors))
  return loaded.snapshot
}

function refused(errors: readonly ConfigError[]): Loaded {
  return { ok: false, errors, text: formatErrors(errors), files: [], urls: [] }
}

const distinctTexts = (all: readonly string[]): string[] => [...new Set(all)]

function translatorOf(options: ControlPlaneOptions): Translator {
  const { policies, backends, env, check, prepare, converted } = options
  const machine = { processors: availableParallelism(), memoryBytes: memoryLimit() }
  const rest = { env, check, prepare, readYaml: converted.read, hasTenants: false }
  return new Translator({ policies, backends, ...machine, ...rest })
}

/** As the manifest has them: the first of two that are in each other's way is served. */
function inOrder({ gateways }: Translation, { objects }: Manifest): GatewayOutput[] {
  return objects.flatMap(({ kind, metadata: { namespace, name } }) =>
    kind === 'Gateway' ? (gateways.get(`${namespace}/${name}`) ?? []) : []
  )
}

const SERVICE_NAME = 'kubernetes.io/service-name'

/** Services that are used are where their EndpointSlices in the manifest say; DNS knows the others, or nobody. */
function hostsOf(objects: readonly KubernetesObject[], services: ReadonlySet<string>) {
  const slices = Map.groupBy(
    objects.filter(({ kind }) => kind === 'EndpointSlice'),
    ({ metadata: { namespace, labels } }) => `${namespace}/${labels?.[SERVICE_NAME]}`
  )
  let hosts: ServiceEndpoints = {}
  const unknown: string[] = []
  for (const object of objects) {
    const name = `${object.metadata.namespace}/${object.metadata.name}`
    if (object.kind !== 'Service' || !services.has(name)) continue
    const own = slices.get(name)
    if (own !== undefined) hosts = { ...hosts, ...endpointsOf(object, own) }
    else if (objectOf(object.spec).type !== 'ExternalName') unknown.push(name)
  }
  const mending = 'an EndpointSlice with their addresses says where they are'
  return { hosts, notes: unknown.length === 0 ? [] : [`DNS is asked for Services ${unknown.join(', ')}: ${mending}`] }
}

/** "HTTPRoute demo/shop: spec.rules[0]: ..." */
const NAMED = /^(\w+) (?:([^/:\s]+)\/)?([^/:\s]+)(?:: |$)/
const PATH = /^(?:spec|data|metadata)(?:[.[][^\s:]*)?(?=:|$)/

/** Places of objects and of their fields in the files. */
class Where {
  readonly #documents: readonly ManifestDocument[]
  readonly #places: Manifest['places']

  constructor(documents: readonly ManifestDocument[], { places }: Manifest) {
    this.#documents = documents
    this.#places = places
  }

  /** As the files were given, and by the lines of each. */
  inOrder(errors: readonly ConfigError[]): readonly ConfigError[] {
    const files = new Map([...new Set(this.#documents.map(({ file }) => file))].map((file, i) => [file, i]))
    const rank = ({ file }: ConfigError) => files.get(file) ?? 0
    return errors.toSorted((a, b) => rank(a) - rank(b) || a.line - b.line || a.column - b.column)
  }

  syntax(): ConfigError[] {
    return this.#documents.flatMap(({ file, problems, position }) =>
      distinct(problems).map(({ offset, path, message, hint }) =>
        this.#error({ file, ...position(offset) }, formatPath(path), message, hint)
      )
    )
  }

  finding(finding: Manifest['findings'][number]): ConfigError {
    const { object, pathInObject, message, at, hint, first } = finding
    const mending = first === undefined ? hint : `the first is at ${placeText(this.#nameOf(first))}`
    return this.#error(this.#placeIn(finding, at), titleOf(object, pathInObject), message, mending)
  }

  complaint(key: ObjectKey, { message, path }: { readonly message: string; readonly path: Path }): ConfigError {
    const [kind = '', namespace = '', name = ''] = key.split('/')
    const object = `${kind} ${namespace === '' ? name : `${namespace}/${name}`}`
    return this.#error(this.#positionOf(key, path), titleOf(object, path), message)
  }

  /** A sentence that begins with its object, and perhaps with a field of it. */
  text(sentence: string): string {
    return `${this.placeOf(sentence)}: ${withoutKeys(sentence)}`
  }

  /** file:line:column */
  placeOf(sentence: string): string {
    const [start = '', kind = '', namespace = '', name = ''] = NAMED.exec(sentence) ?? []
    const [path = ''] = PATH.exec(sentence.slice(start.length)) ?? []
    return placeText(this.#positionOf(`${kind}/${namespace}/${name}`, parsePath(path)))
  }

  /** Of an object itself: where its name is. */
  #positionOf(key: ObjectKey, path: Path): Position {
    const place = this.#places.get(key)
    if (place === undefined) return { file: this.#documents[0]?.file ?? '', line: 1, column: 1 }
    if (path.length === 0) return this.#nameOf(place)
    return this.#placeIn({ ...place, path: [...place.path, ...path] }, 'key')
  }

  #nameOf(object: ManifestPlace): Position {
    return this.#placeIn({ ...object, path: [...object.path, 'metadata', 'name'] }, 'key')
  }

  #placeIn({ document, path }: ManifestPlace, at: 'key' | 'value'): Position {
    const { file, position, locate } = this.#documents[document]!
    return { file, ...position(locate(path, at)) }
  }

  #error({ file, line, column }: Position, path: string, message: string, hint?: string): ConfigError {
    const own = { file, line, column, path, message: withoutKeys(message) }
    return hint === undefined ? own : { ...own, hint: withoutKeys(hint) }
  }
}

type Position = Pick<ConfigError, 'file' | 'line' | 'column'>

const placeText = ({ file, line, column }: Position): string => `${file}:${line}:${column}`

function titleOf(object: string, path: Path): string {
  return [object, formatPath(path)].filter((part) => part !== '').join(': ')
}
