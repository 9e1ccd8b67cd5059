/**
 * The same patch, by an API server and by the gateway: what the server makes of a patch, and of an update to what the
 * gateway has merged, must be the same object, or refused in the same words. Nothing is stored but the originals.
 */
import { isDeepStrictEqual } from 'node:util'
import { PatchError } from '#engine/kubernetes/provisioning/strategic-merge/directives.ts'
import { strategicMerge } from '#engine/kubernetes/provisioning/strategic-merge/merge.ts'
import { PATCH_DEFINITIONS } from '#engine/kubernetes/provisioning/strategic-merge/patch-definitions.ts'
import { PatchSchema } from '#engine/kubernetes/provisioning/strategic-merge/patch-schema.ts'
import type { Raw } from '#engine/schema/placed.ts'
import type { Answer, ApiClient, ApiObject } from './client.ts'
import type { Judged } from './judge.ts'
import { PATCHED } from './patch-samples.ts'
import { RandomPatch } from './random-patch.ts'

const PATCHES_OF_KIND = 120
/** More of the patches have to be taken, or they show little. */
const TAKEN_SHARE_MIN = 0.3

const TYPE = 'application/strategic-merge-patch+json'
const DRY_RUN = '?dryRun=All&fieldValidation=Strict'

export async function patchCases(client: ApiClient): Promise<readonly Judged[]> {
  const judged: Judged[] = []
  for (const [plural, { definition, objects }] of Object.entries(PATCHED)) {
    const schema = new PatchSchema(PATCH_DEFINITIONS, definition)
    let taken = 0
    for (const [at, object] of objects.entries()) {
      const name = `patched-${at}`
      const made = await client.create({ ...object, metadata: { ...object.metadata, name } }, plural)
      if (made.status !== 201) throw new Error(`${plural} ${name}: ${made.status} ${made.body.message}`)
      for (let i = 0; i < PATCHES_OF_KIND / objects.length; i++) {
        const seed = 1 + i + at * PATCHES_OF_KIND
        const other = objects[(at + 1 + (i % (objects.length - 1))) % objects.length]!
        const { why, isTaken } = await compared(client, plural, made.body, other, schema, seed)
        judged.push({ name: `patch of ${plural} ${name}, seed ${seed}`, why })
        if (isTaken) taken++
      }
    }
    const why = taken < PATCHES_OF_KIND * TAKEN_SHARE_MIN ? `only ${taken} were taken` : null
    judged.push({ name: `patches of ${plural}`, why })
  }
  return judged
}

async function compared(
  client: ApiClient,
  plural: string,
  live: ApiObject,
  other: ApiObject,
  schema: PatchSchema,
  seed: number
): Promise<{ readonly why: string | null; readonly isTaken: boolean }> {
  const { name, namespace } = live.metadata
  const group = live.apiVersion.includes('/') ? `/apis/${live.apiVersion}` : `/api/${live.apiVersion}`
  const path = `${group}/namespaces/${namespace}/${plural}/${name}${DRY_RUN}`
  const patch = new RandomPatch(seed).of(patched(live), patched(other), schema)
  const theirs = await client.ask('PATCH', path, { body: patch, type: TYPE })
  let merged: Raw
  try {
    merged = strategicMerge(live, patch, schema)
  } catch (error) {
    if (!(error instanceof PatchError)) throw error
    const why = `${error.path.join('.')} ${error.message}, but: ${theirs.status} ${theirs.body.message}`
    // What cannot be merged is an error of the server (500), not one of the object (422).
    return { why: theirs.status === 500 || theirs.status === 400 ? null : why, isTaken: false }
  }
  const ours = await client.ask('PUT', path, { body: merged })
  const why = difference(theirs, ours)
  return { why: why === null ? null : `${JSON.stringify(patch)}: ${why}`, isTaken: theirs.status === 200 }
}

/** What patches change. */
function patched({ metadata, ...object }: ApiObject): Raw {
  const { labels, annotations, finalizers } = metadata
  const { apiVersion: _, kind: __, status: ___, ...fields } = object
  return { ...fields, metadata: { labels, annotations, finalizers } }
}

function difference(theirs: Answer, ours: Answer): string | null {
  if (isUndecoded(theirs) && isUndecoded(ours)) return null
  const [one, two] = [outcome(theirs), outcome(ours)]
  return isDeepStrictEqual(one, two) ? null : `${JSON.stringify(one)}, but ours: ${JSON.stringify(two)}`
}

/** What was merged is no object of the kind; in a patch and in an update that has a status and words of its own. */
const isUndecoded = ({ status, body: { message = '' } }: Answer) =>
  (status === 422 && message.includes('patch: Invalid value')) ||
  (status === 400 && message.includes('cannot be handled'))

const outcome = ({ status, body }: Answer) => (status === 200 ? settled(body) : { status, message: body.message })

/** Without what says who wrote it, and how often. */
function settled({ metadata, ...object }: ApiObject): unknown {
  const { managedFields: _, generation: __, resourceVersion: ___, ...rest } = metadata
  return { ...object, metadata: rest }
}
