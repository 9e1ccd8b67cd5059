/** The `secrets` of a configuration: schema, what is wrong with them, and how policies find them. */
import type { Files } from '#engine/contract/policy.ts'
import type { NamedSecret, Secrets } from '#engine/contract/secrets.ts'
import { nearestWord } from '#engine/kit/nearest.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { entriesOf, objectOf, type Placed, text } from '#engine/schema/placed.ts'
import { deferred, ENTRIES_MAX, fullName, keyMissing, list, longString, z } from '#engine/schema/schema.ts'
import { labels } from '#engine/schema/secret-ref.ts'
import type { Finding } from './tree.ts'

/** Of Kubernetes: names of entries, and the longest Secret. */
const ENTRY_NAME = /^[-._A-Za-z0-9]{1,253}$/
const VALUE_CHARS_MAX = 1024 * 1024
/** One entry may be one API key. */
const VALUES_MAX = 10_000

const value = () =>
  z.string({ error: keyMissing }).max(VALUE_CHARS_MAX, `must have at most ${VALUE_CHARS_MAX} characters`)

/** Text itself, or where it is. */
const entry = () =>
  z.union([value(), oneOf({ inline: value().optional(), file: longString().optional() })], {
    error: ({ code, input }) => {
      if (input === null || (code === 'invalid_union' && typeof input === 'object')) return undefined
      return keyMissing({ input }) ?? 'is too long'
    }
  })

const SECRET = z
  .strictObject({
    name: fullName().describe('Unique; how policies refer to it (secretRef).'),
    labels: labels().optional().describe('What selectors look for (secretSelector).'),
    entries: z
      .record(z.string().regex(ENTRY_NAME, 'must have only letters, digits, "-", "_" and ".", at most 253'), entry())
      .refine((all) => Object.keys(all).length > 0, 'must have an entry')
      .refine((all) => Object.keys(all).length <= VALUES_MAX, `must have at most ${VALUES_MAX} entries`)
      .describe('Values by their names: text, which may be a variable ($NAME), or { file: PATH }.')
  })
  .meta({ id: 'Secret' })

export const secretsSchema = deferred(() => list(SECRET, 1, ENTRIES_MAX))

// --- what is wrong with them ---

/** What takes two of them to see, or the files that they name. */
export function checkSecrets(raw: unknown, files: Files): Finding[] {
  const findings: Finding[] = []
  const seen = new Set<unknown>()
  for (const { raw: secret, path } of entriesOf(raw, ['secrets'])) {
    const { name: called } = secret
    if (typeof called === 'string' && seen.has(called)) {
      findings.push({ path: [...path, 'name'], message: `two secrets are called ${called}`, at: 'value' })
    }
    seen.add(called)
    for (const [key, held] of Object.entries(objectOf(secret.entries))) {
      const file = text(objectOf(held).file)
      const problem = file === undefined ? null : unreadable(file, files)
      if (problem !== null) findings.push({ path: [...path, 'entries', key, 'file'], message: problem, at: 'value' })
    }
  }
  return findings
}

function unreadable(file: string, files: Files): string | null {
  try {
    files.readFile(file)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

// --- how policies find them ---

/** By name. What is wrong with `raw` is left out: it is said elsewhere. */
export function secretsOf(raw: unknown, files: Files): Secrets {
  const places = entriesOf(raw, ['secrets']).filter((place) => typeof place.raw.name === 'string')
  const known = new Map<unknown, NamedSecret>()
  const read = (place: Placed): NamedSecret => {
    const made = known.get(place) ?? namedSecret(place, files)
    known.set(place, made)
    return made
  }
  return {
    get(wanted) {
      const place = places.find((one) => one.raw.name === wanted)
      if (place !== undefined) return read(place)
      const near = nearestWord(
        wanted,
        places.map((one) => String(one.raw.name))
      )
      throw new Error(`there is no secret '${wanted}' in secrets${near === null ? '' : `: did you mean '${near}'?`}`)
    },
    select: (wanted) =>
      places
        .filter((one) => Object.entries(wanted).every(([label, is]) => objectOf(one.raw.labels)[label] === is))
        .map(read)
  }
}

function namedSecret({ raw }: Placed, files: Files): NamedSecret {
  const entries = Object.entries(objectOf(raw.entries)).flatMap(([key, entry]): [string, string][] => {
    const held = heldText(entry, files)
    return held === null ? [] : [[key, held]]
  })
  return { name: String(raw.name), entries: new Map(entries) }
}

/** Null: nothing that could be read. */
function heldText(held: unknown, files: Files): string | null {
  if (typeof held === 'string') return held
  const { inline, file } = objectOf(held)
  if (typeof file !== 'string') return text(inline) ?? null
  try {
    return files.readFile(file)
  } catch {
    // checkSecrets says why.
    return null
  }
}
