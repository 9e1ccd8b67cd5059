/** Named secrets that a configuration may refer to. Its source puts them there: from a file, or from a cluster. */

/** One secret, read already. */
export interface NamedSecret {
  readonly name: string
  /** Name of the entry -> its value. */
  readonly entries: ReadonlyMap<string, string>
}

export interface Secrets {
  /** Throws an Error that says in words that there is none. */
  get(name: string): NamedSecret
  /** Those with all of these labels, in the order of the configuration. */
  select(labels: Readonly<Record<string, string>>): readonly NamedSecret[]
}

/** The value of an entry. Throws an Error that names the entries of the secret, and shows no value. */
export function secretEntry(secret: NamedSecret, entry: string): string {
  const value = secret.entries.get(entry)
  if (value !== undefined) return value
  const names = [...secret.entries.keys()].map((name) => `'${name}'`)
  throw new Error(`secret '${secret.name}' has no key '${entry}'; it has: ${names.join(', ')}`)
}

/** As it is written to a header: files end with a line feed that is no part of what they hold. */
export function headerEntry(secret: NamedSecret, entry: string): string {
  return secretEntry(secret, entry).replace(/\r?\n$/, '')
}

/** Where configurations have none. */
export const NO_SECRETS: Secrets = {
  get(name) {
    throw new Error(`there is no secret '${name}'`)
  },
  select: () => []
}
