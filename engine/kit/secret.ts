/**
 * A secret as plain data. A Snapshot travels to the workers by structured clone, which strips classes
 * and private fields, so a secret is an object with one marked key: what prints a configuration can
 * tell it from every other string, and nothing that expects a string can use it by accident.
 */

/** The key of a secret's value. A configuration cannot contain it: no schema knows the key. */
export const SECRET_KEY = '$secret'

export interface Secret {
  readonly [SECRET_KEY]: string
}

export function secret(value: string): Secret {
  return { [SECRET_KEY]: value }
}

/** The value; call it only where the value goes out (a header, a key), never where something is printed. */
export function reveal(from: Secret): string {
  return from[SECRET_KEY]
}

export function isSecret(value: unknown): value is Secret {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, SECRET_KEY)
}
